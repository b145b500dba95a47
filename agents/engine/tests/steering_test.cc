// SPDX-License-Identifier: Apache-2.0
// Ranges of a running engine change while packets flow (E2 3.4.4).
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/engine.h"
#include "core/pass.h"
#include "engine_fixture.h"
#include "support/clock.h"
#include "support/flow_hash.h"
#include "support/hop_tag.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::await_packets_in;
using testing::await_stats;
using testing::Frame;
using testing::GraphBuilder;
using testing::module_stats;
using testing::refusal;

constexpr int kSteered = 64;

// [0, cut) to gate `low`, the rest to gate `high`.
json split_at(int cut, int low = 0, int high = 1) {
  return json::array({{{"range", {{"lo", 0}, {"hi", cut}}}, {"gate", low}},
                      {{"range", {{"lo", cut}, {"hi", 65536}}}, {"gate", high}}});
}

json all_to(int gate = 0) {
  return json::array({{{"range", {{"lo", 0}, {"hi", 65536}}}, {"gate", gate}}});
}

json split_config(const json& ranges, int idle_s = 600, int capacity = 4096) {
  return {{"key", {"ip.src", "ip.dst"}},
          {"ranges", ranges},
          {"exceptions", {{"capacity", capacity}, {"idle_timeout_s", idle_s}}}};
}

class SteeringTest : public ::testing::Test {
 protected:
  explicit SteeringTest(uint32_t workers = 1)
      : engine_(EngineOptions{.workers = workers, .cpus = {}}, testing::eal()) {}

  // Packets of `flows` flows -> split -> captures a (gate 0) and b (gate 1).
  GraphBuilder two_captures(int flows, const json& config, const char* first = "a", const char* second = "b") {
    GraphBuilder g;
    g.module("src", "source", {{"flows", flows}, {"rate_pps", 20000}})
        .task("src")
        .module("split", "hash_split", config);
    g.link("src", 0, "split").link("split", 0, first).link("split", 1, second);
    for (const char* name : {"a", "b"}) g.capture_out(name, dir_.file(std::string(name) + ".pcap"));
    return g;
  }

  json split(const std::string& name = "split") { return module_stats(engine_.stats(), name)["split"]; }

  // Until every flow has had packets since now.
  void let_flow(int flows, const std::string& name = "split") {
    const uint64_t now = module_stats(engine_.stats(), name)["packets_in"];
    await_packets_in(engine_, name, now + 3 * static_cast<uint64_t>(flows));
  }

  void end() {
    engine_.apply(json::parse(testing::kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u) << "packet buffers were lost";
  }

  // Source addresses and how many packets of each.
  std::map<uint32_t, int> captured(const std::string& name) {
    std::map<uint32_t, int> out;
    for (const Frame& frame : testing::read_capture(dir_.file(name + ".pcap"))) ++out[parse_packet(frame).ip_src];
    return out;
  }

  testing::TemporaryDirectory dir_;
  Engine engine_;
};

std::set<uint32_t> in_both(const std::map<uint32_t, int>& a, const std::map<uint32_t, int>& b) {
  std::set<uint32_t> out;
  for (const auto& [flow, packets] : a)
    if (b.contains(flow)) out.insert(flow);
  return out;
}

int packets_of(const std::map<uint32_t, int>& flows) {
  int sum = 0;
  for (const auto& [flow, count] : flows) sum += count;
  return sum;
}

uint32_t hash_of(uint32_t src) {
  ParsedPacket p;
  p.ip_src = src;
  p.ip_dst = 0xc6130001;
  return FlowHash({.ip_src = true, .ip_dst = true})(p);
}

TEST_F(SteeringTest, FlowsInProgressStayAndNewOnesFollowNewRanges) {
  engine_.apply(two_captures(kSteered, split_config(all_to())).json);
  let_flow(kSteered);
  const json before = split();
  EXPECT_EQ(before["tracks_flows"], true);
  EXPECT_EQ(before["flows"], kSteered);
  EXPECT_EQ(before["exceptions"], 0);

  engine_.set_split("split", split_at(20000), true);
  uint32_t beyond = 0;
  for (uint32_t flow = 0; flow < kSteered; ++flow) beyond += hash_of(0xc6120000 + flow) >= 20000 ? 1 : 0;
  const json after = split();
  EXPECT_EQ(after["exceptions"], beyond);
  EXPECT_EQ(after["gates"][0]["flows"], kSteered);
  EXPECT_EQ(after["gates"][0]["exceptions"], beyond);
  EXPECT_EQ(after["gates"][1], json::parse(R"({"gate":1,"packets":0,"flows":0,"exceptions":0})"));
  for (int cut = 1000; cut < 60000; cut += 1000) engine_.set_split("split", split_at(cut), true);
  engine_.set_split("split", split_at(20000), true);

  // Twice the flows, without another change of the split.
  engine_.apply(two_captures(2 * kSteered, split_config(split_at(20000))).json);
  let_flow(2 * kSteered);
  EXPECT_EQ(split()["exceptions"], beyond) << "kept over a new graph";
  EXPECT_EQ(split()["flows"], 2 * kSteered);
  EXPECT_GT(split()["exception_packets"], 0);
  const uint64_t sent = module_stats(engine_.stats(), "src")["packets_out"];
  end();

  const auto a = captured("a"), b = captured("b");
  EXPECT_EQ(in_both(a, b), std::set<uint32_t>{}) << "flows that moved";
  EXPECT_GE(static_cast<uint64_t>(packets_of(a) + packets_of(b)), sent) << "packets were lost";
  for (uint32_t flow = 0; flow < 2 * kSteered; ++flow) {
    const uint32_t src = 0xc6120000 + flow;
    EXPECT_EQ(b.contains(src), flow >= kSteered && hash_of(src) >= 20000) << flow;
    EXPECT_EQ(a.contains(src), !b.contains(src)) << flow;
  }
}

TEST_F(SteeringTest, WithoutKeepFlowsAllFollowAtOnce) {
  engine_.apply(two_captures(kSteered, split_config(all_to())).json);
  let_flow(kSteered);
  engine_.set_split("split", split_at(30000), true);
  EXPECT_GT(split()["exceptions"], 0);
  engine_.set_split("split", all_to(1), false);
  const uint64_t at_a = split()["gates"][0]["packets"];
  let_flow(kSteered);
  const json after = split();
  EXPECT_EQ(after["exceptions"], 0);
  EXPECT_EQ(after["gates"][0]["packets"], at_a);
  EXPECT_EQ(after["gates"][1]["flows"], kSteered);
  end();
}

// The gate of a replica on another server: what is in progress stays here, what is new is punted there.
TEST_F(SteeringTest, NewFlowsArePuntedToAnotherServerAndExceptionsStay) {
  const auto graph = [&](int flows) {
    GraphBuilder g = two_captures(flows, split_config(all_to()));
    g.json["links"].erase(2);
    g.module("hop", "hop_out", {{"hop", 7}}).link("split", 1, "hop").link("hop", 0, "b");
    return g.json;
  };
  json g = graph(kSteered);
  engine_.apply(g);
  let_flow(kSteered);
  engine_.set_split("split", split_at(32768), true);
  g = graph(2 * kSteered);
  g["modules"][1]["config"]["ranges"] = split_at(32768);
  engine_.apply(g);
  let_flow(2 * kSteered);
  end();
  for (const auto& [src, count] : captured("a"))
    EXPECT_TRUE(src - 0xc6120000 < kSteered || hash_of(src) < 32768) << "a new flow of the other range stayed";
  int punted = 0;
  for (const Frame& frame : testing::read_capture(dir_.file("b.pcap"))) {
    const uint32_t src = parse_packet(frame).ip_src;
    EXPECT_TRUE(src - 0xc6120000 >= kSteered && hash_of(src) >= 32768) << "a flow in progress was punted";
    HopTag tag{};
    ASSERT_TRUE(read_hop_tag(frame.data(), tag));
    EXPECT_EQ(tag.hop, 7);
    ++punted;
  }
  EXPECT_GT(punted, 0);
}

TEST_F(SteeringTest, AFlowThatPausedForTheTimeOutFollowsTheRanges) {
  engine_.apply(two_captures(kSteered, split_config(all_to(), 1)).json);
  let_flow(kSteered);
  engine_.set_split("split", all_to(1), true);
  EXPECT_EQ(split()["exceptions"], kSteered);
  // Without a source.
  GraphBuilder quiet;
  quiet.module("split", "hash_split", split_config(all_to(1), 1));
  quiet.link("split", 0, "a").link("split", 1, "b");
  for (const char* name : {"a", "b"}) quiet.capture_out(name, dir_.file(std::string(name) + ".pcap"));
  engine_.apply(quiet.json);
  await_stats(engine_, [](const json& stats) { return module_stats(stats, "split")["split"]["flows"] == 0; });
  EXPECT_EQ(split()["exceptions"], 0);
  const uint64_t at_a = split()["gates"][0]["packets"];
  engine_.apply(two_captures(kSteered, split_config(all_to(1), 1)).json);
  let_flow(kSteered);
  EXPECT_EQ(split()["gates"][0]["packets"], at_a);
  EXPECT_EQ(split()["gates"][1]["flows"], kSteered);
  end();
}

TEST_F(SteeringTest, GatesKeepTheirMeaningOverGraphsByTheNameOfWhatTheyLeadTo) {
  engine_.apply(two_captures(kSteered, split_config(split_at(32768))).json);
  let_flow(kSteered);
  const json first = split();
  // Gate 0 leads to b now, and the ranges as they are written would exchange the halves.
  engine_.apply(two_captures(kSteered, split_config(split_at(32768)), "b", "a").json);
  let_flow(kSteered);
  const json second = split();
  EXPECT_EQ(second["exceptions"], kSteered);
  EXPECT_EQ(second["gates"][0]["flows"], first["gates"][1]["flows"]);
  EXPECT_GE(second["gates"][1]["packets"], first["gates"][0]["packets"]);
  const uint64_t sent = module_stats(engine_.stats(), "src")["packets_out"];

  // b is gone.
  GraphBuilder only_a = two_captures(kSteered, split_config(all_to()));
  only_a.json["links"].erase(2);
  engine_.apply(only_a.json);
  const json third = split();
  EXPECT_EQ(third["displaced"], first["gates"][1]["flows"]);
  EXPECT_EQ(third["exceptions"], 0);
  EXPECT_EQ(third["gates"][0]["flows"], kSteered);
  EXPECT_EQ(engine_.get_split("split", 10)["exceptions"], json::array());
  engine_.apply(json::parse(testing::kEmptyGraph));
  EXPECT_GE(static_cast<uint64_t>(packets_of(captured("a")) + packets_of(captured("b"))), sent);
}

// A queue comes in between, or goes, as other workers begin or cease to send to the same place.
TEST_F(SteeringTest, GatesLeadToTheSamePlaceWithAQueueInBetweenOrWithout) {
  GraphBuilder plain = two_captures(kSteered, split_config(split_at(32768)));
  GraphBuilder queued = two_captures(kSteered, split_config(split_at(32768)));
  queued.json["links"].erase(2);
  queued.module("queue", "queue", {{"capacity", 1024}}).link("split", 1, "queue").link("queue", 0, "b").task("queue");
  engine_.apply(plain.json);
  let_flow(kSteered);
  const json first = split();
  for (const json& graph : {queued.json, plain.json}) {
    engine_.apply(graph);
    let_flow(kSteered);
    EXPECT_EQ(split()["displaced"], 0);
    EXPECT_EQ(split()["exceptions"], 0);
    for (const int gate : {0, 1}) EXPECT_EQ(split()["gates"][gate]["flows"], first["gates"][gate]["flows"]);
  }
  end();
  EXPECT_EQ(in_both(captured("a"), captured("b")), std::set<uint32_t>{});
}

// What the last part of the graph before displaced goes into capture a too, so this looks at the exchange alone.
TEST_F(SteeringTest, NoFlowMovesWhenGatesAreExchanged) {
  for (const auto& [first, second] : {std::pair("a", "b"), std::pair("b", "a"), std::pair("a", "b")}) {
    engine_.apply(two_captures(kSteered, split_config(split_at(32768)), first, second).json);
    let_flow(kSteered);
  }
  EXPECT_EQ(split()["exceptions"], 0);
  end();
  EXPECT_EQ(in_both(captured("a"), captured("b")), std::set<uint32_t>{});
}

TEST_F(SteeringTest, AnotherKeyBeginsAnew) {
  engine_.apply(two_captures(kSteered, split_config(all_to())).json);
  let_flow(kSteered);
  engine_.set_split("split", all_to(1), true);
  json config = split_config(all_to(1));
  config["key"] = {"ip.src"};
  engine_.apply(two_captures(kSteered, config).json);
  let_flow(kSteered);
  EXPECT_EQ(split()["exceptions"], 0);
  EXPECT_EQ(split()["displaced"], kSteered);
  EXPECT_EQ(split()["gates"][1]["flows"], kSteered);
  end();
}

TEST_F(SteeringTest, FlowsBeyondTheTableFollowTheRangesAndAreCounted) {
  engine_.apply(two_captures(kSteered, split_config(all_to(), 600, 16)).json);
  let_flow(kSteered);
  EXPECT_EQ(split()["flows"], 16);
  EXPECT_GT(split()["untracked"], 0);
  engine_.set_split("split", all_to(1), true);
  let_flow(kSteered);
  EXPECT_EQ(split()["exceptions"], 16);
  end();
  EXPECT_EQ(in_both(captured("a"), captured("b")).size(), kSteered - 16u);
}

TEST_F(SteeringTest, TellsItsRangesAndExceptions) {
  engine_.apply(two_captures(kSteered, split_config(all_to())).json);
  let_flow(kSteered);
  engine_.set_split("split", split_at(65535, 1, 0), true);
  const json state = engine_.get_split("split", 5);
  EXPECT_EQ(state["ranges"], split_at(65535, 1, 0));
  EXPECT_EQ(state["exceptions"].size(), 5u);
  EXPECT_EQ(state["split"]["exceptions"], kSteered);
  EXPECT_GE(state["idle_ms"]["oldest"], state["idle_ms"]["newest"]);
  std::set<std::string> seen;
  for (const json& exception : state["exceptions"]) {
    EXPECT_EQ(exception["gate"], 0);
    EXPECT_EQ(exception["flow"].size(), 2u);
    EXPECT_EQ(exception["flow"]["ip.dst"], "198.19.0.1");
    EXPECT_EQ(exception["flow"]["ip.src"].get<std::string>().substr(0, 9), "198.18.0.");
    seen.insert(exception["flow"]["ip.src"]);
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(engine_.get_split("split", 0)["exceptions"], json::array());
  end();
}

TEST_F(SteeringTest, RefusesWhatItCannotDoAndChangesNothing) {
  GraphBuilder g = two_captures(kSteered, split_config(split_at(9)));
  g.module("plain", "hash_split", {{"key", {"ip.src"}}, {"ranges", split_at(9)}}).module("sink", "sink");
  g.link("plain", 0, "sink").link("plain", 1, "sink");
  engine_.apply(g.json);
  const std::string digest = engine_.graph_digest();
  const auto set = [&](const char* name, const json& ranges, bool keep) {
    return refusal([&] { engine_.set_split(name, ranges, keep); });
  };
  EXPECT_EQ(set("nobody", all_to(), true), "no-such-module /module");
  EXPECT_EQ(set("sink", all_to(), true), "bad-request /module");
  EXPECT_EQ(set("split", json::array(), true), "invalid-config /ranges");
  EXPECT_EQ(set("split", split_at(9, 0, 2), true), "invalid-config /ranges/1/gate");
  EXPECT_EQ(set("split", json::array({split_at(9)[0]}), true), "invalid-config /ranges/0/range/hi");
  EXPECT_EQ(set("split", json::array({split_at(9)[1]}), true), "invalid-config /ranges/0/range/lo");
  EXPECT_EQ(set("plain", all_to(), true), "invalid-config /keep_flows");
  EXPECT_EQ(refusal([&] { engine_.get_split("sink", 1); }), "bad-request /module");
  EXPECT_EQ(engine_.graph_digest(), digest);
  EXPECT_EQ(engine_.get_split("split", 0)["ranges"], split_at(9));
  EXPECT_EQ(set("plain", all_to(1), false), "none");
  EXPECT_EQ(engine_.get_split("plain", 0)["split"]["tracks_flows"], false);
  end();
}

TEST_F(SteeringTest, TheDigestIsThatOfTheGraphWithTheRangesInForce) {
  GraphBuilder g = two_captures(kSteered, split_config(all_to()));
  engine_.apply(g.json);
  const std::string before = engine_.graph_digest();
  const json answer = engine_.set_split("split", split_at(77), true);
  EXPECT_EQ(answer, json({{"graph_digest", engine_.graph_digest()}}));
  EXPECT_NE(engine_.graph_digest(), before);
  EXPECT_EQ(engine_.stats()["graph_digest"], engine_.graph_digest());
  const std::string set = engine_.graph_digest();
  g.json["modules"][1]["config"]["ranges"] = split_at(77);
  g.generation(9);
  engine_.apply(g.json);
  EXPECT_EQ(engine_.graph_digest(), set) << "another graph than the one with these ranges";
  engine_.set_split("split", all_to(), true);
  EXPECT_EQ(engine_.graph_digest(), before);
  end();
}

// Goes through 100,000 flows after a change, half a microsecond each.
class SlowSplit final : public Module, public Splitter {
 public:
  static constexpr size_t kFlows = 100'000;
  static constexpr uint64_t kFlowNs = 500;

  void process(Pass& pass, Batch& batch, uint8_t) override { pass.emit_all(0, batch); }
  Splitter* splitter() override { return this; }

  std::unique_ptr<SplitChange> prepare(const json&, bool) const override { return std::make_unique<SplitChange>(); }
  void take(SplitChange&) noexcept override { left_ = kFlows; }
  bool settle(size_t rows) noexcept override { return work(rows); }
  void expire(uint64_t) noexcept override {}
  std::unique_ptr<SplitHold> prepare_hold(JsonFields&) const override { return nullptr; }
  bool hold(std::unique_ptr<SplitHold>&, uint64_t) noexcept override { return false; }
  const char* end_hold(bool) noexcept override {
    left_ = kFlows;
    return nullptr;
  }
  bool steer_held(size_t rows, HoldFigures&) noexcept override { return work(rows); }
  void read_figures(SplitFigures&) const override {}
  std::unique_ptr<StateCopy> copy_split(size_t) const override { return std::make_unique<Copy>(); }

 private:
  struct Copy final : StateCopy {
    bool copy(size_t rows) noexcept override { return spend(rows, left); }
    json finish(RowForm) override { return nullptr; }
    size_t left = kFlows;
  };

  static bool spend(size_t rows, size_t& left) {
    rows = std::min(rows, left);
    for (const uint64_t until_ns = monotonic_ns() + rows * kFlowNs; monotonic_ns() < until_ns;) continue;
    left -= rows;
    return left != 0;
  }
  bool work(size_t rows) { return spend(rows, left_); }

  size_t left_ = 0;
};

const ModuleKind kSlowSplit{
    .name = "slow_split",
    .inputs = 1,
    .gates = 1,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext&) -> std::unique_ptr<Module> { return std::make_unique<SlowSplit>(); },
};

TEST(SteeringPauses, AreBoundedByTimeHoweverLongAFlowTakes) {
  Engine engine({.workers = 1, .cpus = {}, .more_kinds = {&kSlowSplit}}, testing::eal());
  GraphBuilder g;
  g.module("src", "source", {{"rate_pps", 1000}}).task("src").module("split", "slow_split").module("sink", "sink");
  g.chain({"src", "split", "sink"});
  engine.apply(g.json);
  // CPU time of a pause includes interrupts that fall into it, so one of a few attempts has to be short.
  const auto expect_short = [&](const char* what, const auto& act) {
    uint64_t longest_ns = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      act();
      // Each takes one step at least.
      EXPECT_LE(engine.pauses().count, SlowSplit::kFlows / 64 + 1) << what;
      longest_ns = engine.pauses().longest_cpu_ns;
      if (longest_ns < 500'000) break;
    }
    RecordProperty(std::string(what) + "_longest_pause_us", static_cast<int>(longest_ns / 1000));
    EXPECT_LT(longest_ns, 500'000u) << what;
  };
  expect_short("change", [&] { engine.set_split("split", all_to(), true); });
  expect_short("steer", [&] { engine.end_hold("split", true); });
  expect_short("view", [&] { engine.get_split("split", 1); });
}

class TwoWorkerSteeringTest : public SteeringTest {
 protected:
  TwoWorkerSteeringTest() : SteeringTest(2) {}
};

// Each worker has a splitter; each is told other ranges while both run, over graphs that exchange the workers.
TEST_F(TwoWorkerSteeringTest, EachKeepsItsOwnFlows) {
  for (int round = 0; round < 12; ++round) {
    GraphBuilder g;
    for (int side = 0; side < 2; ++side) {
      const std::string n = std::to_string(side), src = "src" + n, split = "split" + n;
      g.module(src, "source", {{"flows", kSteered}, {"rate_pps", 20000}}).task(src, (side + round) % 2);
      g.module(split, "hash_split", split_config(split_at(1000 + 5000 * round, side, 1 - side))).link(src, 0, split);
      for (int gate = 0; gate < 2; ++gate) {
        const std::string out = "out" + n + std::to_string(gate);
        g.capture_out(out, dir_.file(out + ".pcap")).link(split, gate, out);
      }
    }
    engine_.apply(g.json);
    for (int change = 0; change < 20; ++change) {
      engine_.set_split("split0", split_at(3000 * (change + 1), change % 2, (change + 1) % 2), true);
      engine_.set_split("split1", all_to(change % 2), true);
    }
    let_flow(kSteered, "split0");
    let_flow(kSteered, "split1");
  }
  const json stats = engine_.stats();
  uint64_t sent = 0;
  for (const char* name : {"src0", "src1"}) sent += module_stats(stats, name)["packets_out"].get<uint64_t>();
  for (const char* name : {"split0", "split1"}) EXPECT_EQ(module_stats(stats, name)["split"]["flows"], kSteered);
  end();
  int received = 0;
  for (const char* side : {"out0", "out1"}) {
    const auto a = captured(std::string(side) + "0"), b = captured(std::string(side) + "1");
    EXPECT_EQ(in_both(a, b), std::set<uint32_t>{}) << side;
    received += packets_of(a) + packets_of(b);
  }
  EXPECT_GE(static_cast<uint64_t>(received), sent);
}

}  // namespace
}  // namespace orrery
