// SPDX-License-Identifier: Apache-2.0
#include "engine_fixture.h"

#include <stdlib.h>

#include <chrono>
#include <thread>

#include "support/pcap_file.h"

namespace orrery::testing {

Eal& eal() {
  static Eal instance({.memory = Memory::kNoHuge, .memory_mb = 64});
  return instance;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "orrery-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_capture(const std::string& path, const std::vector<Frame>& frames) {
  PcapWriter writer(path);
  uint64_t time_ns = 0;
  for (const Frame& frame : frames) writer.write(frame, time_ns += 1000);
  writer.flush();
}

std::vector<Frame> read_capture(const std::string& path) {
  PcapReader reader(path);
  std::vector<Frame> out;
  for (CapturedFrame frame; reader.next(frame);) out.emplace_back(frame.bytes.begin(), frame.bytes.end());
  return out;
}

GraphBuilder::GraphBuilder() : json(nlohmann::json::parse(kEmptyGraph)) {
  json["generation"] = 1;
}

GraphBuilder& GraphBuilder::port(const nlohmann::json& port) {
  json["ports"].push_back(port);
  return *this;
}

GraphBuilder& GraphBuilder::module(const std::string& name, const std::string& kind, const nlohmann::json& config) {
  json["modules"].push_back({{"name", name}, {"kind", kind}, {"config", config}});
  return *this;
}

GraphBuilder& GraphBuilder::nf(const std::string& name, const std::string& kind, const nlohmann::json& config,
                               const nlohmann::json& metadata) {
  json["modules"].push_back({{"name", name}, {"kind", kind}, {"config", config}, {"metadata", metadata}});
  return *this;
}

GraphBuilder& GraphBuilder::link(const std::string& from, int gate, const std::string& to, int input) {
  json["links"].push_back({{"from", from}, {"gate", gate}, {"to", to}, {"input", input}});
  return *this;
}

GraphBuilder& GraphBuilder::chain(const std::vector<std::string>& names) {
  for (size_t i = 1; i < names.size(); ++i) link(names[i - 1], 0, names[i]);
  return *this;
}

GraphBuilder& GraphBuilder::task(const std::string& module, int worker) {
  json["tasks"].push_back({{"module", module}, {"worker", worker}});
  return *this;
}

GraphBuilder& GraphBuilder::generation(int generation) {
  json["generation"] = generation;
  return *this;
}

GraphBuilder& GraphBuilder::capture_in(const std::string& name, const std::string& path) {
  port({{"name", name + "-port"}, {"driver", "pcap"}, {"rx_file", path}});
  return module(name, "port_in", {{"port", name + "-port"}}).task(name);
}

GraphBuilder& GraphBuilder::capture_out(const std::string& name, const std::string& path) {
  port({{"name", name + "-port"}, {"driver", "pcap"}, {"tx_file", path}});
  return module(name, "port_out", {{"port", name + "-port"}});
}

nlohmann::json module_stats(const nlohmann::json& stats, const std::string& name) {
  for (const auto& module : stats["modules"])
    if (module["name"] == name) return module;
  ADD_FAILURE() << "no module " << name;
  return {};
}

uint64_t drops_of(const nlohmann::json& module, const std::string& reason) {
  return module["drops"].value(reason, uint64_t{0});
}

nlohmann::json await_stats(Engine& engine, const std::function<bool(const nlohmann::json&)>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (true) {
    nlohmann::json stats = engine.stats();
    if (holds(stats)) return stats;
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "not within ten seconds; at last: " << stats.dump(1);
      return stats;
    }
    std::this_thread::yield();
  }
}

nlohmann::json await_packets_in(Engine& engine, const std::string& module, uint64_t packets) {
  return await_stats(engine, [&](const nlohmann::json& stats) {
    return module_stats(stats, module)["packets_in"].get<uint64_t>() >= packets;
  });
}

uint64_t histogram_count(const nlohmann::json& sparse) {
  uint64_t count = 0;
  for (const auto& entry : sparse) count += entry[1].get<uint64_t>();
  return count;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const EngineError& error) {
    EXPECT_STRNE(error.what(), "");
    return std::string(error.code) + " " + error.pointer;
  }
  return "none";
}

}  // namespace orrery::testing
