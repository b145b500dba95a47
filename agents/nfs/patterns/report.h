// SPDX-License-Identifier: Apache-2.0
// How Hyperscan reports a match.
#pragma once

#include "nfs/patterns/matcher.h"

namespace orrery {

struct Report {
  Matcher::OnMatch on_match;
  void* context;
};

inline int report_match(unsigned id, unsigned long long, unsigned long long, unsigned, void* context) {
  const auto* report = static_cast<const Report*>(context);
  report->on_match(report->context, id);
  return 0;
}

}  // namespace orrery
