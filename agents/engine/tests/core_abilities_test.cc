// SPDX-License-Identifier: Apache-2.0
// What the core offers to modules that are to come: more packets out than in, packets kept over passes, timers, inputs.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <chrono>
#include <thread>

#include "core/engine.h"
#include "engine_fixture.h"
#include "support/clock.h"
#include "test_modules.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::await_stats;
using testing::build_frame;
using testing::drops_of;
using testing::Frame;
using testing::GraphBuilder;
using testing::module_stats;

std::vector<Frame> numbered(size_t n, uint16_t first = 1) {
  std::vector<Frame> out;
  for (size_t i = 0; i < n; ++i) out.push_back(build_frame({.src_port = static_cast<uint16_t>(first + i)}));
  return out;
}

class CoreAbilities : public ::testing::Test {
 protected:
  CoreAbilities()
      : engine_({.workers = 1, .cpus = {}, .more_kinds = {&testing::kDuplicator, &testing::kHolder, &testing::kJoiner}},
                testing::eal()) {}

  uint64_t packets_in(const json& stats, const std::string& module) {
    return module_stats(stats, module)["packets_in"].get<uint64_t>();
  }
  json await_in(const std::string& module, uint64_t packets) {
    return await_stats(engine_, [&](const json& stats) { return packets_in(stats, module) >= packets; });
  }
  // Closes captures, so that they can be read, and shows that no packet was forgotten.
  void end() {
    engine_.apply(json::parse(testing::kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
  }
  GraphBuilder reading(const std::vector<Frame>& frames, const std::string& name = "in") {
    testing::write_capture(dir_.file(name + ".pcap"), frames);
    GraphBuilder g;
    g.capture_in(name, dir_.file(name + ".pcap"));
    return g;
  }
  std::vector<Frame> captured() { return testing::read_capture(dir_.file("out.pcap")); }

  testing::TemporaryDirectory dir_;
  Engine engine_;
};

TEST_F(CoreAbilities, AModuleMayEmitMoreThanItTookAndOrderStays) {
  const auto frames = numbered(100);
  GraphBuilder g = reading(frames);
  g.module("copy", "duplicator", {{"copies", 6}}).module("count", "counter").capture_out("out", dir_.file("out.pcap"));
  g.chain({"in", "copy", "count", "out"});
  engine_.apply(g.json);
  const json stats = await_in("out", 700);
  end();
  EXPECT_EQ(module_stats(stats, "copy")["packets_out"], 700);
  EXPECT_EQ(module_stats(stats, "copy")["bytes_out"], 7 * module_stats(stats, "copy")["bytes_in"].get<uint64_t>());
  EXPECT_EQ(module_stats(stats, "count")["drops"], json::object());
  std::vector<Frame> expected;
  for (const Frame& frame : frames) expected.insert(expected.end(), 7, frame);
  EXPECT_EQ(captured(), expected);
}

TEST_F(CoreAbilities, WhatIsEmittedBeyondTheBoundIsDroppedAndCounted) {
  GraphBuilder g = reading(numbered(32));
  g.module("copy", "duplicator", {{"copies", 63}}).module("count", "counter").module("end", "sink");
  g.chain({"in", "copy", "count", "end"});
  engine_.apply(g.json);
  const json stats = await_in("end", kMaxPending);
  end();
  const json copy = module_stats(stats, "copy");
  EXPECT_EQ(drops_of(copy, "emit_overflow"), 32 * 64 - kMaxPending);
  EXPECT_EQ(copy["packets_out"], kMaxPending);
  EXPECT_EQ(packets_in(stats, "end"), kMaxPending);
}

TEST_F(CoreAbilities, DuplicatorsInARowAreBoundedAtEachInput) {
  GraphBuilder g = reading(numbered(320));
  for (const char* name : {"a", "b", "c"}) g.module(name, "duplicator", {{"copies", 9}});
  g.module("end", "sink").chain({"in", "a", "b", "c", "end"});
  engine_.apply(g.json);
  const json stats = await_in("a", 320);
  end();
  for (const char* name : {"a", "b", "c"}) {
    const json module = module_stats(stats, name);
    EXPECT_EQ(
        10 * module["packets_in"].get<uint64_t>(),
        module["packets_out"].get<uint64_t>() + drops_of(module, "emit_overflow") + drops_of(module, "no_memory"));
  }
  EXPECT_EQ(packets_in(stats, "end"), module_stats(stats, "c")["packets_out"]);
  EXPECT_GT(drops_of(module_stats(stats, "c"), "emit_overflow"), 0u);
}

TEST_F(CoreAbilities, PacketsAreKeptOverPassesUntilTheTimerRunsThoughNoPacketComes) {
  const auto frames = numbered(70);
  GraphBuilder g = reading(frames);
  g.module("hold", "holder", {{"hold_ms", 50}}).capture_out("out", dir_.file("out.pcap"));
  g.chain({"in", "hold", "out"});
  const uint64_t began_ns = monotonic_ns();
  engine_.apply(g.json);
  await_in("out", 70);
  EXPECT_GE(monotonic_ns() - began_ns, 50'000'000u);
  end();
  EXPECT_EQ(captured(), frames);
}

TEST_F(CoreAbilities, KeptPacketsAndTheTimerSurviveANewGraph) {
  GraphBuilder g = reading(numbered(40));
  g.module("hold", "holder", {{"hold_ms", 200}}).module("end", "sink").chain({"in", "hold", "end"});
  engine_.apply(g.json);
  await_in("hold", 40);
  engine_.apply(g.generation(2).json);
  await_in("end", 40);
  end();
}

TEST_F(CoreAbilities, PacketsThatAModuleKeepsAreFreedWithIt) {
  GraphBuilder g = reading(numbered(40));
  g.module("hold", "holder", {{"hold_ms", 100'000}}).module("end", "sink").chain({"in", "hold", "end"});
  engine_.apply(g.json);
  await_in("hold", 40);
  end();
}

TEST_F(CoreAbilities, AWorkerSleepsUntilTheTimerIsDue) {
  GraphBuilder g = reading(numbered(8));
  g.module("hold", "holder", {{"hold_ms", 300}}).module("end", "sink").chain({"in", "hold", "end"});
  engine_.apply(g.json);
  const json before = await_in("hold", 8);
  while (packets_in(engine_.stats(), "end") < 8) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto cpu = [](const json& stats) { return stats["workers"][0]["cpu_ns"].get<uint64_t>(); };
  EXPECT_LT(cpu(engine_.stats()) - cpu(before), 150'000'000u) << "of some 300 ms";
  end();
}

TEST_F(CoreAbilities, AModuleMayHaveThreeInputs) {
  std::vector<Frame> expected;
  GraphBuilder g;
  g.module("join", "joiner").capture_out("out", dir_.file("out.pcap")).link("join", 0, "out");
  for (int input = 2; input >= 0; --input) {
    const std::string name = "in-" + std::to_string(input);
    const auto frames = numbered(20, static_cast<uint16_t>(1 + 100 * input));
    expected.insert(expected.end(), frames.begin(), frames.end());
    testing::write_capture(dir_.file(name), frames);
    g.capture_in(name, dir_.file(name)).link(name, 0, "join", input);
  }
  engine_.apply(g.json);
  await_in("out", 60);
  g.link("in-0", 1, "join", 3);
  EXPECT_EQ(testing::refusal([&] { engine_.apply(g.generation(2).json); }).substr(0, 13), "invalid-graph");
  end();
  EXPECT_EQ(captured(), expected);
}

}  // namespace
}  // namespace orrery
