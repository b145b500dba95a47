// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/policy_kind.h"

namespace orrery {

// A node of a scheduler tree (contract: EngineSchedulerNode), after its parent.
struct ScheduleNodeSpec {
  std::string id;
  const PolicyKind* policy;  // null: a task
  MakePolicy make;
  size_t module;  // of a task: index in GraphSpec::modules
  size_t parent;  // index in the tree; of the root: any
  double weight;
  uint32_t level;
};

struct ScheduleTreeSpec {
  uint32_t worker;
  std::vector<ScheduleNodeSpec> nodes;  // the root first
};

// Nodes between root and task, both included.
constexpr size_t kMaxScheduleDepth = 32;

// Index of the module when it is a task of the worker. Throws EngineError.
using FindTask = std::function<size_t(const std::string& module, uint32_t worker, const std::string& pointer)>;

// Throws EngineError: `bad-request` for a wrong shape, `invalid-graph` for what does not fit together, with the
// pointer.
ScheduleTreeSpec parse_schedule_tree(const nlohmann::json& value, const std::string& pointer, uint32_t workers,
                                     const FindTask& find_task);

}  // namespace orrery
