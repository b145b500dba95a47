// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery::ids {

struct IdsRule {
  std::string id;
  std::string pattern;
  bool regex;
  bool nocase;

  bool operator==(const IdsRule&) const = default;
};

}  // namespace orrery::ids
