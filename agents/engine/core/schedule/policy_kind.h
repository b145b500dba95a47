// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/schedule_node.h"

namespace orrery {

class JsonFields;

// A node below a policy.
struct ScheduleChild {
  std::unique_ptr<ScheduleNode> node;
  double weight = 1;
  uint32_t level = 0;
};

// Makes a policy of one configuration.
using MakePolicy = std::function<std::unique_ptr<ScheduleNode>(std::string id, std::vector<ScheduleChild> children)>;

struct PolicyKind {
  std::string_view name;
  // What the nodes right below it carry beside their kind.
  enum class Below : uint8_t { kNothing, kWeight, kLevel } below;
  // Reads the members that only this kind has. Throws EngineError.
  MakePolicy (*parse)(JsonFields& fields);
};

// The policy of that name; nullptr when there is none.
const PolicyKind* find_policy_kind(std::string_view name);

std::span<const PolicyKind* const> policy_kinds();

}  // namespace orrery
