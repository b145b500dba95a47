// SPDX-License-Identifier: Apache-2.0
// Flows move between two NFs behind a split while packets flow, with all that the NF knows of them (HYPER III-A).
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <map>

#include "core/engine.h"
#include "engine_fixture.h"
#include "nfs/flow_moves.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::await_packets_in;
using testing::await_stats;
using testing::Frame;
using testing::GraphBuilder;
using testing::module_stats;
using testing::refusal;

constexpr uint32_t kFlows = 64;
constexpr uint32_t kFirst = 0xc6120000;  // 198.18.0.0, of the source's first flow
constexpr uint32_t kMoved = 32;
const json kLowerHalf = json::parse(R"({"match":[{"field":"ip.src","prefix":"198.18.0.0/27"}]})");

class HoldTest : public ::testing::Test {
 protected:
  // Packets of all flows -> split -> a monitor each (gate 0: a, gate 1: b) -> a capture each. All begin at a.
  GraphBuilder graph(bool with_source = true) {
    GraphBuilder g;
    if (with_source) {
      g.module("src", "source", {{"flows", kFlows}, {"rate_pps", 20000}}).task("src");
      g.link("src", 0, "split");
    }
    g.module("split", "hash_split",
             {{"key", {"ip.src", "ip.dst"}},
              {"ranges", json::array({{{"range", {{"lo", 0}, {"hi", 65536}}}, {"gate", 0}}})},
              {"exceptions", {{"capacity", 4096}, {"idle_timeout_s", 600}}}});
    for (const auto& [gate, name] : {std::pair(0, "a"), std::pair(1, "b")}) {
      const std::string monitor = std::string("mon_") + name;
      g.nf(monitor, "monitor").link("split", gate, monitor).link(monitor, 0, name);
      g.capture_out(name, dir_.file(std::string(name) + ".pcap"));
    }
    return g;
  }

  void start() {
    engine_.apply(graph().json);
    let_flow();
  }

  // Until every flow has had packets since now.
  void let_flow() {
    const uint64_t now = module_stats(engine_.stats(), "split")["packets_in"];
    await_packets_in(engine_, "split", now + 3 * uint64_t{kFlows});
  }

  // Without another packet.
  void stop() { engine_.apply(graph(false).json); }

  void end() {
    engine_.apply(json::parse(testing::kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u) << "packet buffers were lost";
  }

  json ask(Engine::FlowRequest request, const char* module, const json& params) {
    JsonFields fields(params, "", "bad-request");
    return engine_.move_flows(module, fields, request);
  }

  json hold(int hold_ms = 2000, const json& flows = kLowerHalf, int to = 1, const char* module = "split") {
    const json params{{"flows", flows}, {"from", 0}, {"to", to}, {"hold_ms", hold_ms}};
    JsonFields fields(params, "", "bad-request");
    return engine_.hold_flows(module, fields);
  }

  // Returns the portion from which the next copy is `since`.
  json copy(const json& since = nullptr) {
    json params{{"flows", kLowerHalf}};
    if (!since.is_null()) params["since"] = since["portion"];
    json portion = ask(export_flows, "mon_a", params);
    EXPECT_EQ(portion["last"], true);
    ask(import_state, "mon_b", {{"state", portion["state"]}, {"renew", true}});
    return portion;
  }

  // The last of the state is copied.
  void catch_up(json since) {
    do since = copy(since);
    while (since["rows"] != 0);
  }

  // Packets of each flow that a monitor has counted.
  std::map<std::string, int> counted(const char* monitor) {
    std::map<std::string, int> out;
    const json state = engine_.get_state(monitor, 1000);
    for (const json& flow : state["flows"]) out[flow["src"]] += flow["packets"].get<int>();
    return out;
  }

  std::map<uint32_t, int> captured(const std::string& name) {
    std::map<uint32_t, int> out;
    for (const Frame& frame : testing::read_capture(dir_.file(name + ".pcap"))) ++out[parse_packet(frame).ip_src];
    return out;
  }

  uint64_t sent() { return module_stats(engine_.stats(), "split")["packets_in"]; }

  // All packets that came left by a, those that waited too.
  void expect_nothing_happened() {
    let_flow();
    stop();
    const uint64_t packets = sent();
    end();
    uint64_t at_a = 0;
    for (const auto& [flow, count] : captured("a")) at_a += static_cast<uint64_t>(count);
    EXPECT_EQ(at_a, packets);
    EXPECT_TRUE(captured("b").empty());
  }

  testing::TemporaryDirectory dir_;
  Engine engine_{EngineOptions{.workers = 1, .cpus = {}}, testing::eal()};
};

TEST_F(HoldTest, FlowsMoveUnderTrafficAndNoPacketMeetsOldState) {
  start();
  json since = copy();
  EXPECT_EQ(since["rows"], kMoved);
  let_flow();
  since = copy(since);
  hold();
  const uint64_t at_a = module_stats(engine_.stats(), "mon_a")["packets_in"];
  catch_up(since);
  let_flow();
  EXPECT_GT(module_stats(engine_.stats(), "mon_a")["packets_in"], at_a) << "other flows do not wait";
  EXPECT_GT(module_stats(engine_.stats(), "split")["queue_depth"], 0);
  EXPECT_EQ(module_stats(engine_.stats(), "mon_b")["packets_in"], 0);

  const json steered = engine_.end_hold("split", true);
  EXPECT_EQ(steered["flows"], kMoved);
  EXPECT_GT(steered["packets"], 0);
  EXPECT_EQ(steered["table_full"], false);
  let_flow();
  EXPECT_EQ(module_stats(engine_.stats(), "split")["queue_depth"], nullptr);
  EXPECT_EQ(module_stats(engine_.stats(), "split")["split"]["exceptions"], kMoved);
  const json portion = copy();
  EXPECT_EQ(ask(release_flows, "mon_a", {{"flows", kLowerHalf}, {"portion", portion["portion"]}}),
            json({{"released", kMoved}, {"kept", 0}}));
  let_flow();
  stop();
  const auto left_at_a = counted("mon_a"), at_b = counted("mon_b");
  end();
  EXPECT_EQ(left_at_a.size(), kFlows - kMoved);
  EXPECT_EQ(at_b.size(), kMoved);
  const auto out_a = captured("a"), out_b = captured("b");
  for (uint32_t flow = 0; flow < kFlows; ++flow) {
    const std::string src = "198.18.0." + std::to_string(flow);
    const bool moved = flow < kMoved;
    EXPECT_EQ(out_b.contains(kFirst + flow), moved);
    const int all = out_a.at(kFirst + flow) + (moved ? out_b.at(kFirst + flow) : 0);
    EXPECT_EQ(moved ? at_b.at(src) : left_at_a.at(src), all) << src << ": packets that its state does not know";
  }
}

TEST_F(HoldTest, WithoutAnEndPacketsGoOnWhereTheyWere) {
  start();
  hold(50);
  await_stats(engine_, [](const json& stats) { return module_stats(stats, "split")["queue_depth"] != nullptr; });
  await_stats(engine_, [](const json& stats) { return module_stats(stats, "split")["queue_depth"] == nullptr; });
  EXPECT_EQ(refusal([&] { engine_.end_hold("split", true); }), "bad-request /module");
  expect_nothing_happened();
}

TEST_F(HoldTest, MorePacketsThanMayWaitGoOnWhereTheyWere) {
  start();
  hold(2000, json::object());
  await_packets_in(engine_, "split", sent() + 5000);
  EXPECT_EQ(refusal([&] { engine_.end_hold("split", true); }), "bad-request /module");
  expect_nothing_happened();
}

TEST_F(HoldTest, ANewGraphEndsTheWait) {
  start();
  hold();
  let_flow();
  engine_.apply(graph().json);
  EXPECT_EQ(refusal([&] { engine_.end_hold("split", true); }), "bad-request /module");
  expect_nothing_happened();
}

TEST_F(HoldTest, CanBeGivenUpAndBegunAgain) {
  start();
  for (int round = 0; round < 20; ++round) {
    hold();
    EXPECT_EQ(refusal([&] { hold(); }), "bad-request /module") << "others wait already";
    engine_.end_hold("split", false);
    engine_.end_hold("split", false);
    await_stats(engine_, [](const json& stats) { return module_stats(stats, "split")["queue_depth"] == nullptr; });
  }
  EXPECT_EQ(refusal([&] { engine_.end_hold("split", true); }), "bad-request /module");
  expect_nothing_happened();
}

TEST_F(HoldTest, RefusesWhatItCannotDo) {
  GraphBuilder g = graph();
  g.module("plain", "hash_split", {{"key", {"ip.src"}}, {"ranges", graph().json["modules"][1]["config"]["ranges"]}});
  g.link("plain", 0, "mon_a").link("plain", 1, "mon_a");
  engine_.apply(g.json);
  EXPECT_EQ(refusal([&] { hold(9, kLowerHalf, 1, "nobody"); }), "no-such-module /module");
  EXPECT_EQ(refusal([&] { hold(9, kLowerHalf, 1, "mon_a"); }), "bad-request /module");
  EXPECT_EQ(refusal([&] { hold(9, kLowerHalf, 1, "plain"); }), "invalid-config /module");
  EXPECT_EQ(refusal([&] { hold(9, kLowerHalf, 2); }), "invalid-config /to");
  EXPECT_EQ(refusal([&] { hold(9, kLowerHalf, 256); }), "bad-request /to");
  EXPECT_EQ(refusal([&] { hold(0); }), "bad-request /hold_ms");
  EXPECT_EQ(refusal([&] { hold(2001); }), "bad-request /hold_ms");
  const json ports = json::parse(R"({"match":[{"field":"port.dst","lo":1,"hi":2}]})");
  EXPECT_EQ(refusal([&] { hold(9, ports); }), "invalid-config /flows/match/0/field");
  EXPECT_EQ(refusal([&] { engine_.end_hold("split", true); }), "bad-request /module");
  end();
}

}  // namespace
}  // namespace orrery
