// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/schedule/policy_kind.h"

namespace orrery {

extern const PolicyKind kRoundRobin, kPriority, kWeightedFair, kRateLimit;

namespace {

constexpr const PolicyKind* kPolicies[] = {
    &kRoundRobin,
    &kPriority,
    &kWeightedFair,
    &kRateLimit,
};

}  // namespace

const PolicyKind* find_policy_kind(std::string_view name) {
  const auto* const it = std::ranges::find(kPolicies, name, &PolicyKind::name);
  return it == std::end(kPolicies) ? nullptr : *it;
}

std::span<const PolicyKind* const> policy_kinds() {
  return kPolicies;
}

}  // namespace orrery
