// SPDX-License-Identifier: Apache-2.0
// Runs real engines on captures in tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/engine.h"
#include "support/testing/frames.h"

namespace orrery::testing {

// DPDK's environment, without hugepages; made on first use and ended with the process.
Eal& eal();

// A directory of one test, empty at first and removed at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

void write_capture(const std::string& path, const std::vector<Frame>& frames);
std::vector<Frame> read_capture(const std::string& path);

// An EngineGraph under construction.
class GraphBuilder {
 public:
  GraphBuilder& port(const nlohmann::json& port);
  GraphBuilder& module(const std::string& name, const std::string& kind,
                       const nlohmann::json& config = nlohmann::json::object());
  GraphBuilder& nf(const std::string& name, const std::string& kind,
                   const nlohmann::json& config = nlohmann::json::object(),
                   const nlohmann::json& metadata = nlohmann::json::object());
  GraphBuilder& link(const std::string& from, int gate, const std::string& to, int input = 0);
  // Gate 0 of each to input 0 of the next.
  GraphBuilder& chain(const std::vector<std::string>& names);
  GraphBuilder& task(const std::string& module, int worker = 0);
  GraphBuilder& generation(int generation);

  // A pcap port that receives the frames, and the module `name` (a task) that reads it.
  GraphBuilder& capture_in(const std::string& name, const std::string& path);
  // A module `name` that writes to a capture.
  GraphBuilder& capture_out(const std::string& name, const std::string& path);

  nlohmann::json json;

  GraphBuilder();
};

nlohmann::json module_stats(const nlohmann::json& stats, const std::string& name);
uint64_t drops_of(const nlohmann::json& module, const std::string& reason);

// Waits until the statistics satisfy the condition; fails the test after ten seconds.
nlohmann::json await_stats(Engine& engine, const std::function<bool(const nlohmann::json& stats)>& holds);

// Waits until the module has taken in so many packets.
nlohmann::json await_packets_in(Engine& engine, const std::string& module, uint64_t packets);

// Sum of a histogram on the wire, and a lower bound of its percentile.
uint64_t histogram_count(const nlohmann::json& sparse);

// The refusal of a call, as "code pointer"; "none" when it succeeds.
std::string refusal(const std::function<void()>& call);

inline constexpr const char* kEmptyGraph = R"({"generation":0,"ports":[],"modules":[],"links":[],"tasks":[]})";

}  // namespace orrery::testing
