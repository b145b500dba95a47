// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/module.h"
#include "core/port.h"
#include "core/schedule/tree_spec.h"

namespace orrery {

struct ModuleSpec {
  std::string name;
  const ModuleKind* kind;
  nlohmann::json config;
  std::vector<MetadataField> metadata;  // empty for modules that are no NFs
};

// Indices are into GraphSpec::modules.
struct LinkSpec {
  size_t from;
  uint8_t gate;
  size_t to;
  uint8_t input;
};

struct TaskSpec {
  size_t module;
  uint32_t worker;
};

constexpr uint32_t kNoWorker = UINT32_MAX;

// EngineGraph of the contract, checked as far as that goes without making anything.
struct GraphSpec {
  uint64_t generation;
  std::vector<PortSpec> ports;
  std::vector<ModuleSpec> modules;
  std::vector<LinkSpec> links;
  std::vector<TaskSpec> tasks;
  std::vector<ScheduleTreeSpec> schedulers;  // at most one a worker
  std::vector<uint32_t> workers;             // by module: who runs it (a queue: who empties it), or kNoWorker
};

// Throws EngineError: `bad-request` for a wrong shape, `invalid-graph` for names, gates, cycles and tasks that do not
// fit, each with its pointer. Configurations of modules are not looked at. `more_kinds`: beside those of the registry.
GraphSpec parse_graph(const nlohmann::json& params, uint32_t workers,
                      std::span<const ModuleKind* const> more_kinds = {});

}  // namespace orrery
