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
  std::vector<int> cpus;  // of the workers; empty: wherever the process may run
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
  nlohmann::json describe() const;
  nlohmann::json stats();
  nlohmann::json get_state(const std::string& module, size_t limit);
  nlohmann::json export_state(const std::string& module);
  void import_state(const std::string& module, const nlohmann::json& state);

 private:
  class Parked;

  NfCore& nf_of(const std::string& module);
  void hand_over(Graph& next);

  const Eal& eal_;
  std::string epoch_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace orrery
