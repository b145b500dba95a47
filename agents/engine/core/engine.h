// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/eal.h"
#include "core/graph.h"
#include "core/worker.h"

namespace orrery {

constexpr const char* kEngineVersion = "0.1.0";

struct EngineOptions {
  uint32_t workers = 1;
  std::vector<int> cpus;                           // of the workers; empty: wherever the process may run
  std::vector<const ModuleKind*> more_kinds = {};  // beside those of the registry
};

// The data plane of one server and what can be asked of it (contract: EngineRequest). For one thread; every call may
// throw EngineError and has then changed nothing.
class Engine {
 public:
  Engine(const EngineOptions& options, const Eal& eal);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void apply(const nlohmann::json& params);
  // Of the graph that it runs; empty before the first.
  const std::string& graph_digest() const { return graph_digest_; }
  nlohmann::json describe() const;
  nlohmann::json stats();
  nlohmann::json get_state(const std::string& module, size_t limit);
  nlohmann::json export_state(const std::string& module);
  void import_state(const std::string& module, const nlohmann::json& state);

  // Pauses of the workers by the last of these three: how many, and what the longest cost this thread.
  struct Pauses {
    uint32_t count = 0;
    uint64_t longest_cpu_ns = 0;
  };
  const Pauses& pauses() const { return pauses_; }

 private:
  class Parked;

  NfCore& nf_of(const std::string& module);
  template <class Slice>
  void pause_for_each(Slice&& slice);
  nlohmann::json copied(StateCopy& copy);
  void hand_over(Graph& next);

  const Eal& eal_;
  const std::vector<const ModuleKind*> more_kinds_;
  std::string epoch_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Graph> graph_;
  std::string graph_digest_;
  Pauses pauses_;
};

}  // namespace orrery
