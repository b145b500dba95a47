// SPDX-License-Identifier: Apache-2.0
// Graphs of benchmarks (contract: EngineGraph).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace orrery::bench {

inline nlohmann::json graph(nlohmann::json ports, nlohmann::json modules, nlohmann::json links, nlohmann::json tasks) {
  return {{"generation", 1},
          {"ports", std::move(ports)},
          {"modules", std::move(modules)},
          {"links", std::move(links)},
          {"tasks", std::move(tasks)}};
}

inline nlohmann::json empty_graph() {
  using nlohmann::json;
  return graph(json::array(), json::array(), json::array(), json::array());
}

inline nlohmann::json module(const std::string& name, const std::string& kind,
                             nlohmann::json config = nlohmann::json::object()) {
  return {{"name", name}, {"kind", kind}, {"config", std::move(config)}};
}

inline nlohmann::json link(const std::string& from, const std::string& to, int gate = 0, int input = 0) {
  return {{"from", from}, {"gate", gate}, {"to", to}, {"input", input}};
}

inline nlohmann::json task(const std::string& name) {
  return {{"module", name}};
}

}  // namespace orrery::bench
