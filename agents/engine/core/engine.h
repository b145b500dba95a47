// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/eal.h"
#include "core/graph.h"
#include "core/worker.h"
#include "nfs/flow_moves.h"

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
  // Of the graph that it runs, with the ranges and configurations set since; empty before the first.
  const std::string& graph_digest() const { return graph_digest_; }
  nlohmann::json describe() const;
  nlohmann::json stats();
  nlohmann::json get_state(const std::string& module, size_t limit);
  nlohmann::json export_state(const std::string& module);
  void import_state(const std::string& module, const nlohmann::json& state);
  // Runs a request of nfs/flow_moves.h on the NF of a module.
  using FlowRequest = nlohmann::json (*)(NfCore& nf, JsonFields& params, const Slices& slices);
  nlohmann::json move_flows(const std::string& module, JsonFields& params, FlowRequest request);
  // Another configuration for one NF, between two batches; its state stays.
  nlohmann::json configure(const std::string& module, const nlohmann::json& config);
  nlohmann::json set_split(const std::string& module, const nlohmann::json& ranges, bool keep_flows);
  // Packets of flows wait at a splitter (contract: hold_flows, end_hold).
  nlohmann::json hold_flows(const std::string& module, JsonFields& params);
  nlohmann::json end_hold(const std::string& module, bool steer);
  nlohmann::json get_split(const std::string& module, size_t limit);

  // Pauses of the workers by the last of these: how many, and what the longest cost this thread.
  struct Pauses {
    uint32_t count = 0;
    uint64_t longest_cpu_ns = 0;
  };
  const Pauses& pauses() const { return pauses_; }

 private:
  static constexpr size_t kStreamLogBytes = 16u << 20;

  class Parked;

  Node& node_of(const std::string& module);
  NfCore& nf_of(const std::string& module);
  Splitter& splitter_of(const std::string& module);
  template <class Slice>
  void pause_for_each(Slice&& slice);
  template <class Step>
  void pause_for_steps(Step&& step);
  nlohmann::json copied(StateCopy& copy);
  void hand_over(Graph& next);
  void settle(Splitter& splitter);
  template <class Change>
  nlohmann::json now_has(const std::string& module, Change&& change);

  const Eal& eal_;
  const std::vector<const ModuleKind*> more_kinds_;
  std::string epoch_;
  StreamLog stream_log_{kStreamLogBytes};  // packets that wait in queues may refer to it
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Graph> graph_;
  nlohmann::json graph_params_;
  std::string graph_digest_;
  Pauses pauses_;
};

}  // namespace orrery
