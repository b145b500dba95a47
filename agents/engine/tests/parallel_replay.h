// SPDX-License-Identifier: Apache-2.0
// Runs chains on captures, in sequence and in parallel forms, and tells how the outcomes differ.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/engine.h"
#include "engine_fixture.h"
#include "parallel_graphs.h"

namespace orrery::testing {

// A server that load balancers and filters of tests are about.
inline constexpr uint32_t kVirtualAddress = 0xcb007101;  // 203.0.113.1

// Packets over IPv4 and IPv6 of flows that come back, requests, attacks, fragments, and frames that are wrong in every
// way.
std::vector<Frame> chain_traffic(uint64_t seed, size_t count);

// Without what depends on when it was read, and with rows in an order that does not.
nlohmann::json timeless(const nlohmann::json& state);

struct Outcome {
  std::vector<Frame> out;                       // with metadata word, without the stamp
  std::map<std::string, nlohmann::json> state;  // by NF: what an operator sees
  std::map<std::string, nlohmann::json> flows;  // and what another instance would take over
  std::map<std::string, uint64_t> given_up;     // by the merges, by reason
};

class ParallelReplay : public ::testing::Test {
 protected:
  // What NFs know before the first packet, by name, as they import it.
  using Known = std::map<std::string, nlohmann::json>;

  ParallelReplay();

  // In sequence where `parallel_options` is null. No packet is lost on the way, whatever becomes of it.
  Outcome run(Engine& engine, const std::vector<Frame>& frames, const Line& line,
              const ParallelGraphOptions* parallel_options, const Known& known = {});

  // Which outcomes differ, by name: `packets`, or an NF; empty: none.
  static std::set<std::string> difference(const Outcome& a, const Outcome& b);

  TemporaryDirectory dir_;
  Engine engine_;
  Engine two_workers_;
};

}  // namespace orrery::testing
