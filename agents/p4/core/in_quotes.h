// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace orrery::p4 {

// A name of a program as refusals write it. It may be empty or end in a space, with which gRPC carries no message.
inline std::string in_quotes(std::string_view name) {
  return '"' + std::string(name) + '"';
}

}  // namespace orrery::p4
