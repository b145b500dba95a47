// SPDX-License-Identifier: Apache-2.0
// Scheduler trees on real engines. What is compared are counted cycles and packets, never times.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/engine.h"
#include "engine_fixture.h"
#include "test_modules.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::await_packets_in;
using testing::await_stats;
using testing::drops_of;
using testing::GraphBuilder;
using testing::module_stats;

json policy(const char* kind, const std::string& id, const json& parent, const json& more = json::object()) {
  json out{{"kind", kind}, {"id", id}, {"parent", parent}, {"weight", nullptr}, {"level", nullptr}};
  out.update(more);
  return out;
}

json leaf(const std::string& module, const json& parent, json more = json::object()) {
  more["module"] = module;
  return policy("task", "task-" + module, parent, more);
}

json scheduler(int worker, json tree) {
  return {{"worker", worker}, {"tree", std::move(tree)}};
}

json node_stats(const json& stats, int worker, const std::string& id) {
  for (const auto& tree : stats["schedulers"])
    if (tree["worker"] == worker)
      for (const auto& each : tree["nodes"])
        if (each["id"] == id) return each;
  ADD_FAILURE() << "no node " << id << " of worker " << worker;
  return {};
}

double cycles_of(const json& stats, int worker, const std::string& id) {
  return node_stats(stats, worker, id)["cycles"].get<double>();
}

class SchedulerTest : public ::testing::Test {
 protected:
  explicit SchedulerTest(uint32_t workers = 1)
      : engine_({.workers = workers, .cpus = {}, .more_kinds = {&testing::kBurner}}, testing::eal()) {}

  void end() {
    engine_.apply(json::parse(testing::kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u) << "packets were lost";
  }

  // Fills the queues of the lines of a graph and leaves the packets going round in them, so that there is always work,
  // however fast the machine is.
  void circulate(const GraphBuilder& lines) {
    json filling = lines.json;
    filling.erase("schedulers");
    for (const json& module : lines.json["modules"]) {
      if (module["kind"] != "queue") continue;
      const std::string queue = module["name"], source = "fill-" + queue;
      filling["modules"].push_back({{"name", source}, {"kind", "source"}, {"config", {{"flows", 4}}}});
      filling["links"].push_back({{"from", source}, {"gate", 0}, {"to", queue}});
      for (const json& task : lines.json["tasks"])
        if (task["module"] == queue) filling["tasks"].push_back({{"module", source}, {"worker", task["worker"]}});
    }
    engine_.apply(filling);
    await_stats(engine_, [&](const json& stats) {
      return std::ranges::all_of(stats["modules"], [](const json& module) {
        return module["kind"] != "queue" || drops_of(module, "queue_full") > 0;
      });
    });
    engine_.apply(lines.json);
  }

  Engine engine_;
};

class TwoSchedulersTest : public SchedulerTest {
 protected:
  TwoSchedulersTest() : SchedulerTest(2) {}
};

// A source as fast as it can, a queue, and packets that cost `spins` each.
void add_line(GraphBuilder& g, const std::string& name, int spins, int worker = 0) {
  g.module("src-" + name, "source", {{"flows", 4}}).task("src-" + name, worker);
  g.module("q-" + name, "queue", {{"capacity", 256}}).task("q-" + name, worker);
  g.module("burn-" + name, "burner", {{"spins", spins}}).module("end-" + name, "sink");
  g.chain({"src-" + name, "q-" + name, "burn-" + name, "end-" + name});
}

// A queue whose packets go round through a module in which each costs `spins`.
void add_ring(GraphBuilder& g, const std::string& name, int spins, int worker = 0) {
  g.module("q-" + name, "queue", {{"capacity", 256}}).task("q-" + name, worker);
  g.module("burn-" + name, "burner", {{"spins", spins}}).chain({"q-" + name, "burn-" + name, "q-" + name});
}

// Three queues with weights 1, 2 and 5.
json weighted_tree(int worker, const std::string& suffix = "", const char* when_idle = "yield") {
  json tree{policy("weighted-fair", "root", nullptr, {{"when_idle", when_idle}})};
  const double weights[] = {1, 2, 5};
  const char* names[] = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) tree.push_back(leaf("q-" + (names[i] + suffix), "root", {{"weight", weights[i]}}));
  return scheduler(worker, std::move(tree));
}

// Whether cycles are shared 1:2:5 since the tree is there, though packets cost a tenth or ten times of each other. A
// thread that loses its core in a run is charged for the pause, and the others catch up: shares hold in the long run.
bool shares_hold(const json& stats, int worker, const std::string& suffix, double tolerance) {
  const double sum = cycles_of(stats, worker, "root");
  const auto near = [&](const std::string& id, double share) {
    return std::abs(cycles_of(stats, worker, id + suffix) / sum - share) <= tolerance * share;
  };
  return sum >= 5e8 && near("task-q-a", 1.0 / 8) && near("task-q-b", 2.0 / 8) && near("task-q-c", 5.0 / 8);
}

TEST_F(SchedulerTest, WeightsShareTheTimeOfOneWorkerWithinAPercent) {
  GraphBuilder g;
  add_ring(g, "a", 300);
  add_ring(g, "b", 30);
  add_ring(g, "c", 3);
  g.json["schedulers"] = {weighted_tree(0)};
  circulate(g);
  await_stats(engine_, [](const json& s) { return shares_hold(s, 0, "", 0.01); });
  end();
}

TEST_F(TwoSchedulersTest, WeightsShareTheTimeOfTwoWorkersWithinFourPercent) {
  GraphBuilder g;
  for (int worker = 0; worker < 2; ++worker) {
    const std::string suffix = std::to_string(worker);
    add_ring(g, "a" + suffix, 300, worker);
    add_ring(g, "b" + suffix, 30, worker);
    add_ring(g, "c" + suffix, 3, worker);
  }
  g.json["schedulers"] = {weighted_tree(0, "0"), weighted_tree(1, "1")};
  circulate(g);
  await_stats(engine_, [](const json& s) { return shares_hold(s, 0, "0", 0.04) && shares_hold(s, 1, "1", 0.04); });
  end();
}

// The child with most weight has next to no load: the others share what it leaves.
TEST_F(SchedulerTest, WeightsHoldAmongThoseThatHaveWork) {
  GraphBuilder g;
  add_ring(g, "a", 3);
  add_ring(g, "b", 30);
  circulate(g);
  g.module("src-c", "source", {{"rate_pps", 100}}).task("src-c").module("q-c", "queue").task("q-c");
  g.module("end-c", "sink").chain({"src-c", "q-c", "end-c"});
  g.json["schedulers"] = {weighted_tree(0)};
  engine_.apply(g.json);
  const json stats = await_stats(engine_, [](const json& s) {
    const double ratio = cycles_of(s, 0, "task-q-b") / cycles_of(s, 0, "task-q-a");
    return cycles_of(s, 0, "root") >= 5e8 && std::abs(ratio - 2) < 0.02 && node_stats(s, 0, "task-q-c")["packets"] > 10;
  });
  EXPECT_EQ(node_stats(stats, 0, "task-q-c")["empty_runs"], 0) << "an empty queue is not polled";
  end();
}

TEST_F(SchedulerTest, PollingUsesUpTheShareOfAnEmptyQueue) {
  GraphBuilder g;
  add_ring(g, "a", 30);
  add_ring(g, "b", 300);
  circulate(g);
  g.module("q-c", "queue").task("q-c");
  g.json["schedulers"] = {weighted_tree(0, "", "poll")};
  engine_.apply(g.json);
  const json stats = await_stats(engine_, [](const json& s) { return shares_hold(s, 0, "", 0.01); });
  EXPECT_EQ(node_stats(stats, 0, "task-q-c")["runs"], node_stats(stats, 0, "task-q-c")["empty_runs"]);
  end();
}

// A class that offers less than its share loses nothing, and the others have no more than theirs (poll) or what it
// leaves (yield), by their weights.
TEST_F(SchedulerTest, WeightsHoldThoughOneOffersLessThanItsShare) {
  for (const char* when_idle : {"yield", "poll"}) {
    GraphBuilder g;
    add_ring(g, "a", 30);
    add_ring(g, "b", 300);
    circulate(g);
    g.module("src-c", "source", {{"rate_pps", 20'000}}).task("src-c");
    g.module("q-c", "queue", {{"capacity", 16384}})
        .task("q-c")
        .module("burn-c", "burner", {{"spins", 300}})
        .module("end-c", "sink");
    g.chain({"src-c", "q-c", "burn-c", "end-c"});
    g.json["schedulers"] = {weighted_tree(0, "", when_idle)};
    engine_.apply(g.json);
    const json stats = await_stats(engine_, [&](const json& s) {
      const double ratio = cycles_of(s, 0, "task-q-b") / cycles_of(s, 0, "task-q-a");
      const bool polled = when_idle == std::string("poll");
      return cycles_of(s, 0, "root") >= 5e8 && (polled ? shares_hold(s, 0, "", 0.01) : std::abs(ratio - 2) < 0.02);
    });
    const json c = node_stats(stats, 0, "task-q-c");
    EXPECT_GT(c["packets"], 100) << when_idle;
    EXPECT_LT((c["cycles"].get<double>() - c["empty_cycles"].get<double>()) / cycles_of(stats, 0, "root"), 5.0 / 8);
    EXPECT_EQ(drops_of(module_stats(stats, "q-c"), "queue_full"), 0u) << when_idle;
    end();
  }
}

TEST_F(SchedulerTest, StatisticsAddUp) {
  GraphBuilder g;
  add_line(g, "a", 30);
  add_line(g, "b", 3);
  g.json["schedulers"] = {scheduler(
      0, {policy("priority", "root", nullptr), policy("round-robin", "in", "root", {{"level", 0}}),
          policy("rate-limit", "limit", "in", {{"resource", "packets"}, {"per_second", 50000}}), leaf("src-a", "limit"),
          leaf("src-b", "in"), policy("weighted-fair", "out", "root", {{"level", 0}, {"when_idle", "yield"}}),
          leaf("q-a", "out", {{"weight", 3}}), leaf("q-b", "out", {{"weight", 1}})})};
  engine_.apply(g.json);
  await_packets_in(engine_, "end-a", 1000);
  const json stats = await_packets_in(engine_, "end-b", 10'000);
  const json& nodes = stats["schedulers"][0]["nodes"];
  const json& tree = g.json["schedulers"][0]["tree"];
  ASSERT_EQ(nodes.size(), tree.size());
  uint64_t cycles = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    EXPECT_EQ(nodes[i]["id"], tree[i]["id"]);
    if (tree[i]["kind"] == "task") {
      cycles += nodes[i]["cycles"].get<uint64_t>() - nodes[i]["empty_cycles"].get<uint64_t>();
      continue;
    }
    for (const char* field : {"cycles", "packets", "bytes", "runs", "empty_runs", "empty_cycles"}) {
      uint64_t sum = 0;
      for (size_t c = 0; c < tree.size(); ++c)
        if (tree[c]["parent"] == tree[i]["id"]) sum += nodes[c][field].get<uint64_t>();
      EXPECT_EQ(nodes[i][field], sum) << field << " of " << tree[i]["id"];
    }
  }
  EXPECT_EQ(cycles, stats["workers"][0]["busy_cycles"]) << "what tasks use is what the worker is busy with";
  EXPECT_EQ(node_stats(stats, 0, "task-q-a")["packets"], module_stats(stats, "q-a")["packets_out"]);
  EXPECT_EQ(node_stats(stats, 0, "task-src-a")["bytes"], module_stats(stats, "src-a")["bytes_out"]);
  end();
}

TEST_F(SchedulerTest, LowPriorityStarvesWhileHighHasWorkAndRunsWhenItHasNone) {
  const auto graph = [](int generation, double rate_pps) {
    GraphBuilder g;
    add_line(g, "high", 30);
    add_line(g, "low", 30);
    g.json["modules"][0]["config"]["rate_pps"] = rate_pps;
    g.json["schedulers"] = {
        scheduler(0, {policy("priority", "root", nullptr), policy("round-robin", "high", "root", {{"level", 0}}),
                      leaf("src-high", "high"), leaf("q-high", "high"), leaf("src-low", "root", {{"level", 1}}),
                      leaf("q-low", "root", {{"level", 2}})})};
    return g.generation(generation).json;
  };
  engine_.apply(graph(1, 0));
  json stats = await_packets_in(engine_, "end-high", 100'000);
  EXPECT_EQ(node_stats(stats, 0, "task-src-low")["runs"], 0) << "the source above never ends";
  EXPECT_EQ(node_stats(stats, 0, "task-q-low")["runs"], 0);
  // The source of low packets never ends either, so its queue stays full and unserved below it.
  engine_.apply(graph(2, 1));
  stats = await_stats(engine_, [](const json& s) { return node_stats(s, 0, "task-src-low")["packets"] > 100'000; });
  EXPECT_EQ(node_stats(stats, 0, "task-q-low")["runs"], 0);
  EXPECT_GT(node_stats(stats, 0, "task-q-high")["packets"], 100'000) << "figures go on";
  end();
}

// Never more than the rate, a millisecond of it and a batch. (Less is possible: a worker may get its core late.)
TEST_F(SchedulerTest, LimitsPacketsAndBits) {
  for (const auto& [resource, per_second] : {std::pair("packets", 50'000.0), std::pair("bits", 50'000 * 250 * 8.0)}) {
    GraphBuilder g;
    add_line(g, "a", 3);
    g.json["modules"][0]["config"]["packet_bytes"] = 250;
    g.json["schedulers"] = {
        scheduler(0, {policy("rate-limit", "root", nullptr, {{"resource", resource}, {"per_second", per_second}}),
                      leaf("q-a", "root")})};
    engine_.apply(g.json);
    const json before = await_packets_in(engine_, "end-a", 500);
    const uint64_t first = module_stats(before, "end-a")["packets_in"];
    const json after = await_packets_in(engine_, "end-a", first + 10'000);
    const double seconds = (after["t_ns"].get<double>() - before["t_ns"].get<double>()) / 1e9;
    EXPECT_LE(module_stats(after, "end-a")["packets_in"].get<double>() - static_cast<double>(first),
              50'000 * (seconds + 0.001) + kBatchSize)
        << resource;
    end();
  }
}

TEST_F(TwoSchedulersTest, AHeldBackWorkerSleepsThoughItsQueueIsFull) {
  GraphBuilder g;
  g.module("src", "source").task("src", 0).module("q", "queue").task("q", 1).module("end", "sink");
  g.chain({"src", "q", "end"});
  g.json["schedulers"] = {scheduler(
      1, {policy("rate-limit", "root", nullptr, {{"resource", "packets"}, {"per_second", 2000}}), leaf("q", "root")})};
  engine_.apply(g.json);
  const json first = await_packets_in(engine_, "end", 100);
  const json last = await_packets_in(engine_, "end", 1500);
  const auto cpu = [](const json& s) { return s["workers"][1]["cpu_ns"].get<double>(); };
  EXPECT_LT(cpu(last) - cpu(first), 0.5 * (last["t_ns"].get<double>() - first["t_ns"].get<double>()))
      << "the worker spins, or is woken for packets that it must not take";
  EXPECT_GT(drops_of(module_stats(last, "q"), "queue_full"), 0u);
  end();
}

// Every packet that a source made is counted once, whatever tree is swapped for which.
TEST_F(SchedulerTest, NoPacketIsLostWhenTreesChangeUnderLoad) {
  std::mt19937 rng(17);
  uint64_t seen = 0;
  for (int generation = 1; generation <= 60; ++generation) {
    GraphBuilder g;
    add_line(g, "a", 3);
    add_line(g, "b", 30);
    add_line(g, "c", 1);
    const auto limit = [](double per_second) { return json{{"resource", "cycles"}, {"per_second", per_second}}; };
    switch (rng() % 5) {
      case 0:
        break;
      case 1:
        g.json["schedulers"] = {weighted_tree(0)};
        break;
      case 2:
        g.json["schedulers"] = {weighted_tree(0, "", "poll")};
        break;
      case 3:
        g.json["schedulers"] = {
            scheduler(0, {policy("rate-limit", "root", nullptr, limit(1e9)), policy("round-robin", "turns", "root"),
                          leaf("q-c", "turns"), leaf("src-c", "turns"), leaf("q-a", "turns")})};
        break;
      default:
        g.json["schedulers"] = {scheduler(0, {policy("priority", "root", nullptr), leaf("q-b", "root", {{"level", 1}}),
                                              leaf("q-a", "root", {{"level", 0}})})};
    }
    engine_.apply(g.generation(generation).json);
    const json stats = engine_.stats();
    EXPECT_EQ(stats["schedulers"].size(), g.json.contains("schedulers") ? 1u : 0u);
    for (const std::string line : {"a", "b", "c"}) {
      const json q = module_stats(stats, "q-" + line);
      EXPECT_EQ(module_stats(stats, "src-" + line)["packets_out"], q["packets_in"]);
      EXPECT_EQ(q["packets_in"],
                q["packets_out"].get<uint64_t>() + q["queue_depth"].get<uint64_t>() + drops_of(q, "queue_full"));
      EXPECT_EQ(module_stats(stats, "end-" + line)["packets_in"], q["packets_out"]);
    }
    const json later = await_packets_in(engine_, "end-a", seen + 500);
    seen = module_stats(later, "end-a")["packets_in"];
  }
  end();
}

// What weighs the shares is kept: without it, the child that happens to be first would win at every change.
TEST_F(SchedulerTest, SharesHoldThoughTheTreeChangesAllTheTime) {
  GraphBuilder g;
  add_ring(g, "a", 3000);
  add_ring(g, "b", 30);
  add_ring(g, "c", 3);
  g.json["schedulers"] = {weighted_tree(0)};
  circulate(g);
  json stats = engine_.stats();
  for (int generation = 2; generation < 20'000 && !shares_hold(stats, 0, "", 0.02); ++generation) {
    engine_.apply(g.generation(generation).json);
    stats = engine_.stats();
  }
  EXPECT_TRUE(shares_hold(stats, 0, "", 0.02)) << stats["schedulers"].dump(1);
  end();
}

// A tree beside tasks that it does not name: every second run is the tree's.
TEST_F(SchedulerTest, TasksOutsideTheTreeTakeTurnsWithIt) {
  GraphBuilder g;
  for (const char* name : {"a", "b", "c", "d"}) g.module(name, "source").task(name);
  g.module("end", "sink");
  for (const char* name : {"a", "b", "c", "d"}) g.link(name, 0, "end");
  g.json["schedulers"] = {scheduler(
      0, {policy("priority", "root", nullptr), leaf("b", "root", {{"level", 0}}), leaf("c", "root", {{"level", 1}})})};
  engine_.apply(g.json);
  const json stats = await_packets_in(engine_, "end", 100'000);
  const auto packets = [&](const char* name) { return module_stats(stats, name)["packets_out"].get<double>(); };
  EXPECT_NEAR(packets("b"), 2 * packets("a"), 2 * kBatchSize);
  EXPECT_NEAR(packets("b"), 2 * packets("d"), 2 * kBatchSize);
  EXPECT_EQ(packets("c"), 0);
  EXPECT_EQ(node_stats(stats, 0, "root")["packets"], packets("b"));
  end();
}

TEST_F(SchedulerTest, ARefusedTreeChangesNothing) {
  GraphBuilder g;
  add_line(g, "a", 3);
  engine_.apply(g.json);
  g.json["schedulers"] = {scheduler(0, {policy("priority", "root", nullptr), leaf("q-a", "root")})};
  EXPECT_EQ(testing::refusal([&] { engine_.apply(g.generation(2).json); }), "invalid-graph /schedulers/0/tree/1/level");
  EXPECT_EQ(engine_.describe()["generation"], 1);
  await_packets_in(engine_, "end-a", 1000);
  end();
}

// An NF without a queue of its own runs in the pass that hands it packets; each NF is measured from where the one
// before it ended.
TEST_F(SchedulerTest, AnNfMayFollowAnNfInOnePass) {
  GraphBuilder g;
  g.module("src", "source", {{"rate_pps", 5000}}).task("src");
  g.nf("first", "monitor").module("burn", "burner", {{"spins", 100'000}});
  g.module("class", "classify",
           {{"rules", json::array({{{"match", json::array({{{"field", "ip.proto"}, {"value", 17}}})}, {"gate", 1}}})}});
  g.nf("second", "l2-forwarder").nf("third", "monitor").module("end", "sink");
  g.chain({"src", "first", "burn", "class"}).link("class", 1, "second").chain({"second", "third", "end"});
  g.json["schedulers"] = {scheduler(0, {leaf("src", nullptr)})};
  engine_.apply(g.json);
  const json stats = await_packets_in(engine_, "end", 200);
  const json task_stats = node_stats(stats, 0, "task-src");
  EXPECT_EQ(task_stats["packets"], module_stats(stats, "third")["packets_in"]);
  uint64_t cycles = 0;
  for (const auto& module : stats["modules"]) cycles += module["cycles"].get<uint64_t>();
  EXPECT_GE(task_stats["cycles"], cycles) << "a task is charged for all that its passes ran";
  // The second NF is reached only after at least 100,000 spins, the third at once.
  const auto lowest_ns = [&](const char* name) {
    const json latency = module_stats(stats, name)["latency_ns"];
    return Histogram::bucket_lower_ns(latency[0][0].get<uint32_t>());
  };
  EXPECT_GT(lowest_ns("second"), 10'000u);
  EXPECT_LT(lowest_ns("third"), lowest_ns("second"));
  end();
}

}  // namespace
}  // namespace orrery
