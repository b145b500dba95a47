// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/policy.h"

#include <algorithm>

namespace orrery {

bool Policy::ready(const Instant& at) const {
  return std::ranges::any_of(children_, [&](const auto& child) { return child->ready(at); });
}

bool Policy::held(const Instant& at) const {
  return std::ranges::all_of(children_, [&](const auto& child) { return child->held(at); });
}

void Policy::collect_waits(Waits& waits) const {
  for (const auto& child : children_) child->collect_waits(waits);
}

void Policy::collect_held(Waits& waits) const {
  for (const auto& child : children_) child->collect_held(waits);
}

std::vector<std::unique_ptr<ScheduleNode>> nodes_of(std::vector<ScheduleChild> children) {
  std::vector<std::unique_ptr<ScheduleNode>> out;
  out.reserve(children.size());
  for (ScheduleChild& child : children) out.push_back(std::move(child.node));
  return out;
}

}  // namespace orrery
