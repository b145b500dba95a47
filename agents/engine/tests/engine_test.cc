// SPDX-License-Identifier: Apache-2.0
// Graphs at work: what is applied, kept, refused and counted.
#include "core/engine.h"

#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <random>

#include "engine_fixture.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::await_packets_in;
using testing::await_stats;
using testing::drops_of;
using testing::GraphBuilder;
using testing::module_stats;
using testing::refusal;

class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(uint32_t workers = 1) : engine_(EngineOptions{.workers = workers, .cpus = {}}, testing::eal()) {}

  void apply(const GraphBuilder& graph) { engine_.apply(graph.json); }
  json module(const std::string& name) { return module_stats(engine_.stats(), name); }

  testing::TemporaryDirectory dir_;
  Engine engine_;
};

class TwoWorkerTest : public EngineTest {
 protected:
  TwoWorkerTest() : EngineTest(2) {}
};

GraphBuilder source_to_sink(double rate_pps = 0) {
  GraphBuilder g;
  g.module("src", "source", {{"rate_pps", rate_pps}}).task("src");
  g.module("q", "queue").task("q").module("sink", "sink").chain({"src", "q", "sink"});
  return g;
}

TEST_F(EngineTest, DescribesItself) {
  const json d = engine_.describe();
  EXPECT_EQ(d["memory"], "no-huge");
  EXPECT_EQ(d["workers"], 1);
  EXPECT_EQ(d["generation"], 0);
  EXPECT_FALSE(d["epoch"].get<std::string>().empty());
  for (const char* kind : {"port_in", "classify", "queue", "firewall", "nat", "ids", "monitor", "l2-forwarder"})
    EXPECT_NE(std::find(d["modules"].begin(), d["modules"].end(), kind), d["modules"].end()) << kind;
  Engine other({}, testing::eal());
  EXPECT_NE(other.describe()["epoch"], d["epoch"]);
}

TEST_F(EngineTest, KeepsCountersOfModulesThatStayAndForgetsTheOthers) {
  apply(source_to_sink());
  const json before = await_packets_in(engine_, "sink", 1000);
  GraphBuilder g = source_to_sink();
  g.generation(2).module("new", "counter");
  apply(g);
  EXPECT_EQ(engine_.describe()["generation"], 2);
  EXPECT_GE(module("sink")["packets_in"], module_stats(before, "sink")["packets_in"]);
  EXPECT_GE(module("sink")["cycles"], module_stats(before, "sink")["cycles"]);
  EXPECT_EQ(module("new")["packets_in"], 0);

  // The same name with another kind is another module.
  GraphBuilder other;
  other.module("src", "source").task("src").module("q", "counter").module("sink", "sink").chain({"src", "q", "sink"});
  apply(other);
  const json q = module("q");
  EXPECT_EQ(q["queue_depth"], nullptr);
  EXPECT_EQ(q["packets_in"], q["packets_out"]);
  apply(source_to_sink());
  const json after = engine_.stats();
  EXPECT_LT(module_stats(after, "q")["packets_in"], module_stats(after, "sink")["packets_in"]);
}

// Every packet is somewhere: whatever is swapped, nothing is lost or counted twice.
TEST_F(EngineTest, LosesNoPacketOverManySwaps) {
  std::mt19937 rng(5);
  uint64_t seen = 0;
  for (int generation = 1; generation <= 60; ++generation) {
    GraphBuilder g;
    g.generation(generation).module("src", "source", {{"flows", 16}}).task("src").task("src-2");
    g.module("src-2", "source").module("entry", "counter").chain({"src", "entry", "q"}).chain({"src-2", "entry"});
    g.module("q", "queue", {{"capacity", 32 << (rng() % 4)}}).task("q").module("sink", "sink");
    if (generation % 2 == 0) {
      g.module("middle", "counter").chain({"q", "middle", "sink"});
    } else {
      g.chain({"q", "sink"});
    }
    apply(g);
    const json stats = engine_.stats();
    const json q = module_stats(stats, "q");
    const uint64_t in = q["packets_in"];
    EXPECT_EQ(module_stats(stats, "entry")["packets_out"], in);
    EXPECT_EQ(in, q["packets_out"].get<uint64_t>() + q["queue_depth"].get<uint64_t>() + drops_of(q, "queue_full"));
    EXPECT_EQ(module_stats(stats, "sink")["packets_in"], q["packets_out"]);
    EXPECT_LE(q["queue_depth"], g.json["modules"][3]["config"]["capacity"]);
    seen = await_packets_in(engine_, "sink", seen + 64)["modules"].back()["packets_in"];
  }
  engine_.apply(json::parse(testing::kEmptyGraph));
  EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u) << "a swap lost packet buffers";
}

TEST_F(EngineTest, CountsOverflowOfAQueue) {
  GraphBuilder g;
  g.module("a", "source").module("b", "source").module("q", "queue", {{"capacity", 32}}).module("sink", "sink");
  g.link("a", 0, "q").link("b", 0, "q").link("q", 0, "sink").task("a").task("b").task("q");
  apply(g);
  const json stats =
      await_stats(engine_, [](const json& s) { return drops_of(module_stats(s, "q"), "queue_full") > 100; });
  const json q = module_stats(stats, "q");
  EXPECT_EQ(q["packets_in"],
            q["packets_out"].get<uint64_t>() + drops_of(q, "queue_full") + q["queue_depth"].get<uint64_t>());
}

TEST_F(EngineTest, CountsPacketsAtAGateWithoutALink) {
  GraphBuilder g;
  g.module("src", "source").task("src").module("c", "counter").link("src", 0, "c");
  apply(g);
  const json c = module_stats(await_packets_in(engine_, "c", 100), "c");
  EXPECT_EQ(drops_of(c, "no_gate"), c["packets_in"]);
  EXPECT_EQ(c["packets_out"], 0);
}

TEST_F(EngineTest, ARefusedGraphChangesNothing) {
  apply(source_to_sink());
  const std::string tx = dir_.file("never.pcap");
  GraphBuilder bad = source_to_sink();
  bad.generation(9).capture_out("out", tx).module("h", "hop_out", {{"hop", 0}});
  EXPECT_EQ(refusal([&] { apply(bad); }), "invalid-config /modules/4/config/hop");
  EXPECT_FALSE(std::filesystem::exists(tx)) << "a port was opened for a graph that is refused";
  EXPECT_EQ(engine_.describe()["generation"], 1);

  GraphBuilder no_port = source_to_sink();
  no_port.port({{"name", "nic"}, {"driver", "af_packet"}, {"iface", "orrery-no-such"}});
  EXPECT_EQ(refusal([&] { apply(no_port); }), "port-failed /ports/0/iface");
  GraphBuilder no_file = source_to_sink();
  no_file.capture_in("in", dir_.file("missing.pcap"));
  EXPECT_EQ(refusal([&] { apply(no_file); }), "port-failed /ports/0/rx_file");
  GraphBuilder unwritable = source_to_sink();
  unwritable.capture_out("out", dir_.file("no/such/directory.pcap"));
  EXPECT_EQ(refusal([&] { apply(unwritable); }), "port-failed /ports/0");

  const uint64_t before = module("sink")["packets_in"];
  await_packets_in(engine_, "sink", before + 1000);
}

TEST_F(EngineTest, RefusesWrongConfigurations) {
  const std::vector<std::tuple<const char*, const char*, const char*>> cases = {
      {"port_in", R"({"port":"nowhere"})", "invalid-graph /port"},
      {"port_in", R"({})", "invalid-config /port"},
      {"port_out", R"({"port":"p","x":1})", "invalid-config /x"},
      {"hop_in", R"({"hops":[{"hop":65535,"gate":0}]})", "invalid-config /hops/0/hop"},
      {"hop_in", R"({"hops":[{"hop":1,"gate":0},{"hop":1,"gate":1}]})", "invalid-config /hops/1/hop"},
      {"hop_out", R"({})", "invalid-config /hop"},
      {"exit", R"({"exit_id":"x","dst_mac":"02:00:00:00:00:0","src_mac":"02:00:00:00:00:01"})",
       "invalid-config /dst_mac"},
      {"exit", R"({"exit_id":"x","dst_mac":"02:00:00:00:00:01","src_mac":"02-00-00-00-00-01"})",
       "invalid-config /src_mac"},
      {"classify", R"({"rules":[{"match":[{"field":"ip.src","prefix":"x"}],"gate":0}]})",
       "invalid-config /rules/0/match/0/prefix"},
      {"classify", R"({"rules":[{"match":{},"gate":0}]})", "invalid-config /rules/0/match"},
      {"classify", R"({"rules":[],"default_gate":256})", "invalid-config /default_gate"},
      {"hash_split", R"({"key":["ip.ttl"],"ranges":[{"range":{"lo":0,"hi":65536},"gate":0}]})",
       "invalid-config /key/0"},
      {"hash_split", R"({"key":["ip.src","ip.src"],"ranges":[{"range":{"lo":0,"hi":65536},"gate":0}]})",
       "invalid-config /key/1"},
      {"hash_split", R"({"key":[],"ranges":[]})", "invalid-config /ranges"},
      {"hash_split", R"({"key":[],"ranges":[{"range":{"lo":9,"hi":9},"gate":0}]})",
       "invalid-config /ranges/0/range/hi"},
      {"hash_split",
       R"({"key":[],"ranges":[{"range":{"lo":5,"hi":65536},"gate":0},{"range":{"lo":0,"hi":6},"gate":1}]})",
       "invalid-config /ranges/0/range"},
      {"hash_split", R"({"key":[],"ranges":3})", "invalid-config /ranges"},
      {"hash_split", R"({"key":[],"ranges":[{"range":{"lo":0,"hi":9},"gate":0}]})",
       "invalid-config /ranges/0/range/hi"},
      {"hash_split", R"({"key":[],"ranges":[{"range":{"lo":0,"hi":65536},"gate":0}],"exceptions":{"capacity":0}})",
       "invalid-config /exceptions/capacity"},
      {"hash_split",
       R"({"key":[],"ranges":[{"range":{"lo":0,"hi":65536},"gate":0}],"exceptions":{"idle_timeout_s":0}})",
       "invalid-config /exceptions/idle_timeout_s"},
      {"hash_split", R"({"key":[],"ranges":[{"range":{"lo":0,"hi":65536},"gate":0}],"exceptions":{"x":1}})",
       "invalid-config /exceptions/x"},
      {"queue", R"({"capacity":31})", "invalid-config /capacity"},
      {"counter", R"({"x":1})", "invalid-config /x"},
      {"source", R"({"rate_pps":-1})", "invalid-config /rate_pps"},
      {"source", R"({"packet_bytes":1501})", "invalid-config /packet_bytes"},
      {"firewall", R"({"default_action":"maybe"})", "invalid-config /default_action"},
  };
  for (const auto& [kind, config, expected] : cases) {
    GraphBuilder g;
    g.port({{"name", "p"}, {"driver", "null"}}).module("m", kind, json::parse(config));
    const std::string role = kind;
    if (role == "port_in" || role == "queue" || role == "source") g.task("m");
    std::string wanted = expected;
    wanted.insert(wanted.find('/'), "/modules/0/config");
    EXPECT_EQ(refusal([&] { apply(g); }), wanted) << kind << " " << config;
  }
  GraphBuilder twice;
  twice.port({{"name", "p"}, {"driver", "null"}}).module("a", "port_out", {{"port", "p"}});
  twice.module("b", "port_out", {{"port", "p"}});
  EXPECT_EQ(refusal([&] { apply(twice); }), "invalid-graph /modules/1/config/port");
}

TEST_F(EngineTest, ChangesTheConfigurationOfAnNfAndKeepsItsState) {
  const auto graph = [](const json& firewall, const json& monitor) {
    GraphBuilder g;
    g.module("src", "source", {{"flows", 8}}).task("src").nf("fw", "firewall", firewall).nf("mon", "monitor", monitor);
    g.module("sink", "sink").chain({"src", "fw", "mon", "sink"});
    return g;
  };
  const json allow = {{"default_action", "allow"}};
  apply(graph(allow, json::object()));
  await_packets_in(engine_, "sink", 1000);
  const uint64_t allowed = engine_.get_state("fw", 10)["allowed"];
  EXPECT_EQ(engine_.get_state("mon", 100)["flow_count"], 8);

  // The second NF refuses, so the first must go on with its old rules.
  const json deny = {{"default_action", "deny"}};
  EXPECT_EQ(refusal([&] { apply(graph(deny, {{"max_flows", 0}})); }), "invalid-config /modules/2/config/max_flows");
  EXPECT_EQ(drops_of(module("fw"), "denied"), 0u);
  await_packets_in(engine_, "sink", module("sink")["packets_in"].get<uint64_t>() + 1000);
  EXPECT_EQ(drops_of(module("fw"), "denied"), 0u);

  apply(graph(deny, {{"max_flows", 64}}));
  await_stats(engine_, [](const json& s) { return drops_of(module_stats(s, "fw"), "denied") > 1000; });
  EXPECT_GE(engine_.get_state("fw", 10)["allowed"], allowed);
  EXPECT_EQ(engine_.get_state("mon", 100)["flow_count"], 8);
  EXPECT_EQ(engine_.get_state("mon", 100)["max_flows"], 64);
}

TEST_F(EngineTest, AnNfWhoseMetadataMoveKeepsItsFlows) {
  const auto graph = [](int offset) {
    GraphBuilder g;
    g.module("src", "source", {{"flows", 8}}).task("src");
    g.nf("mon", "monitor", json::object(),
         {{"verdict", {{"offset", offset}, {"width", 2}, {"values", {{"safe", 1}}}}}});
    g.module("sink", "sink").chain({"src", "mon", "sink"});
    return g;
  };
  apply(graph(0));
  const json before = await_packets_in(engine_, "sink", 1000);
  apply(graph(4));
  EXPECT_EQ(engine_.get_state("mon", 100)["flow_count"], 8);
  EXPECT_GE(module("mon")["packets_in"], module_stats(before, "mon")["packets_in"]);
}

TEST_F(EngineTest, MovesStateBetweenInstances) {
  GraphBuilder g;
  g.module("src", "source", {{"flows", 5}}).task("src").nf("a", "monitor").nf("b", "monitor").module("sink", "sink");
  g.chain({"src", "a", "sink"});
  apply(g);
  await_packets_in(engine_, "sink", 100);
  engine_.import_state("b", engine_.export_state("a"));
  EXPECT_EQ(engine_.get_state("b", 100)["flow_count"], 5);
  EXPECT_EQ(engine_.get_state("b", 2)["flows"].size(), 2u);

  EXPECT_EQ(refusal([&] { engine_.get_state("nobody", 1); }), "no-such-module /module");
  EXPECT_EQ(refusal([&] { engine_.export_state("sink"); }), "bad-request /module");
  EXPECT_EQ(refusal([&] { engine_.import_state("b", {{"flows", 3}}); }), "invalid-config /state/flows");
}

// What 100,000 flows cost packets that flow meanwhile: nothing but short pauses. Of a pause that is too long by itself
// every attempt tells; of the machine, which takes the processor from this thread and goes on counting its time, some.
TEST_F(EngineTest, MovesALargeTableInShortPausesWithoutLoss) {
  constexpr uint64_t kFlows = 100'000;
  GraphBuilder g;
  g.module("src", "source", {{"flows", 2000}, {"rate_pps", 50'000}}).task("src");
  g.nf("fw", "stateful-firewall", {{"max_flows", 131'072}}).module("sink", "sink").chain({"src", "fw", "sink"});
  g.nf("copy", "stateful-firewall", {{"max_flows", 131'072}});
  apply(g);
  json rows = json::array();
  for (uint64_t i = 0; i < kFlows; ++i) rows.push_back({0x0a000000 + i, 0xc0a80001, 1024 + i % 60'000, 80, 6, 2, 7});
  const json large = {{"flows", std::move(rows)}};
  const auto expect_short_pauses = [&](const char* what, uint64_t count, const auto& move) {
    constexpr uint64_t kShortNs = 5'000'000;
    uint64_t longest_ns = UINT64_MAX;
    for (int attempt = 0; attempt < 3 && longest_ns >= kShortNs; ++attempt) {
      move();
      EXPECT_EQ(engine_.pauses().count, count) << what;
      longest_ns = engine_.pauses().longest_cpu_ns;
    }
    RecordProperty(std::string(what) + "_longest_pause_us", static_cast<int>(longest_ns / 1000));
    EXPECT_LT(longest_ns, kShortNs) << what;
  };
  expect_short_pauses("import", (kFlows + kImportSliceRows - 1) / kImportSliceRows,
                      [&] { engine_.import_state("fw", large); });
  const auto packets = [&](const json& stats, const char* name) {
    return module_stats(stats, name)["packets_in"].get<uint64_t>();
  };
  const uint64_t before = packets(engine_.stats(), "sink");

  json exported;
  json shown;
  expect_short_pauses("export", kFlows / kSliceRows + 1, [&] { exported = engine_.export_state("fw"); });
  expect_short_pauses("view", kFlows / kSliceRows + 1, [&] { shown = engine_.get_state("fw", 1000); });

  EXPECT_EQ(shown["flow_count"], kFlows);
  EXPECT_EQ(shown["flows"].size(), 1000u);
  const json after = engine_.stats();
  EXPECT_GT(packets(after, "sink"), before) << "packets went on";
  for (const json& module : after["modules"]) EXPECT_EQ(module["drops"], json::object()) << module;
  EXPECT_EQ(module_stats(after, "src")["packets_out"], packets(after, "sink"));
  engine_.import_state("copy", exported);
  EXPECT_EQ(engine_.get_state("copy", 1)["flow_count"], kFlows);
}

TEST_F(EngineTest, SendsAtTheRateAsked) {
  apply(source_to_sink(2000));
  const json first = await_packets_in(engine_, "src", 50);
  const json last = await_packets_in(engine_, "src", 1050);
  const double packets =
      module_stats(last, "src")["packets_in"].get<double>() - module_stats(first, "src")["packets_in"].get<double>();
  const double seconds = (last["t_ns"].get<double>() - first["t_ns"].get<double>()) / 1e9;
  // Never faster; a busy machine may make it slower.
  EXPECT_LE(packets, 2000 * seconds + 2 * kBatchSize);
}

TEST_F(EngineTest, GivesBackWhatPortsAndQueuesHeld) {
  GraphBuilder g = source_to_sink();
  g.port({{"name", "loop"}, {"driver", "ring"}}).port({{"name", "copy"}, {"driver", "null"}, {"copy", true}});
  g.module("loop-out", "port_out", {{"port", "loop"}})
      .module("src-2", "source")
      .task("src-2")
      .chain({"src-2", "loop-out"});
  apply(g);
  const json stats =
      await_stats(engine_, [](const json& s) { return drops_of(module_stats(s, "loop-out"), "port_full") > 0; });
  EXPECT_GT(stats["ports"][0]["tx_packets"], 0);
  EXPECT_TRUE(stats["ports"][1]["up"]);
  engine_.apply(json::parse(testing::kEmptyGraph));
  EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
  EXPECT_EQ(engine_.stats()["ports"].size(), 0u);
}

TEST_F(EngineTest, ARingReturnsWhatIsSentToIt) {
  GraphBuilder g;
  g.port({{"name", "loop"}, {"driver", "ring"}});
  g.module("src", "source", {{"rate_pps", 20000}, {"packet_bytes", 100}}).task("src");
  g.module("out", "port_out", {{"port", "loop"}}).module("in", "port_in", {{"port", "loop"}}).task("in");
  g.module("sink", "sink").chain({"src", "out"}).chain({"in", "sink"});
  apply(g);
  const json stats = await_packets_in(engine_, "sink", 500);
  EXPECT_EQ(module_stats(stats, "in")["bytes_in"], 100 * module_stats(stats, "in")["packets_in"].get<uint64_t>());
}

uint64_t cycles_of_modules(const json& stats) {
  uint64_t cycles = 0;
  for (const json& module : stats["modules"]) cycles += module["cycles"].get<uint64_t>();
  return cycles;
}

TEST_F(EngineTest, MeasuresCyclesAndCpu) {
  apply(source_to_sink(5000));
  await_packets_in(engine_, "sink", 500);
  // What modules spend is what the worker is busy with: a worker that had to wait for its core has full batches, which
  // are charged with the next one that is measured.
  const json stats = testing::await_stats(
      engine_, [](const json& now) { return cycles_of_modules(now) == now["workers"][0]["busy_cycles"]; });
  EXPECT_GT(stats["workers"][0]["cpu_ns"], 0);
  EXPECT_GT(stats["cycles_per_second"], 1e8);
}

// Of full batches, modules are charged for those that were not measured by the next one that is. Until then a batch
// in which the worker had to wait for its core may be missing.
TEST_F(EngineTest, ChargesModulesForAllFullBatches) {
  apply(source_to_sink());
  const json stats = testing::await_stats(engine_, [](const json& now) {
    const auto charged = static_cast<double>(cycles_of_modules(now));
    return module_stats(now, "sink")["packets_in"] > 1'000'000 &&
           charged > 0.98 * now["workers"][0]["busy_cycles"].get<double>();
  });
  EXPECT_LE(cycles_of_modules(stats), stats["workers"][0]["busy_cycles"]);
  for (const char* name : {"src", "q", "sink"}) EXPECT_GT(module_stats(stats, name)["cycles"], 0) << name;
}

// A swap finds batches of which modules were not charged yet.
TEST_F(EngineTest, SwapsOfTheGraphForgetNoCycles) {
  for (int swap = 0; swap < 100; ++swap) {
    const uint64_t before = swap == 0 ? 0 : module("sink")["packets_in"].get<uint64_t>();
    apply(source_to_sink());
    await_packets_in(engine_, "sink", before + 1000);
  }
  // Batches that are not full are measured, and those before them charged with them.
  apply(source_to_sink(5000));
  await_stats(engine_, [](const json& now) { return cycles_of_modules(now) == now["workers"][0]["busy_cycles"]; });
}

TEST_F(TwoWorkerTest, SwapsOfTheGraphForgetNoCyclesOfInlets) {
  const auto graph = [](double rate_pps) {
    GraphBuilder g;
    g.module("src", "source", {{"rate_pps", rate_pps}}).task("src", 0);
    g.module("q", "queue").task("q", 1).module("sink", "sink").chain({"src", "q", "sink"});
    return g;
  };
  for (int swap = 0; swap < 30; ++swap) {
    apply(graph(0));
    await_packets_in(engine_, "sink", 1000);
  }
  apply(graph(5000));
  await_stats(engine_, [](const json& now) {
    return cycles_of_modules(now) ==
           now["workers"][0]["busy_cycles"].get<uint64_t>() + now["workers"][1]["busy_cycles"].get<uint64_t>();
  });
}

// Both workers fill the queue of one of them as fast as they can, through swaps that change who empties it.
TEST_F(TwoWorkerTest, AQueueJoinsWorkers) {
  uint64_t seen = 0;
  for (int generation = 1; generation <= 30; ++generation) {
    GraphBuilder g;
    g.generation(generation).module("a", "source").task("a", 0).module("b", "source").task("b", 1);
    g.module("q", "queue", {{"capacity", 64 << (generation % 3)}}).task("q", generation % 2).module("sink", "sink");
    g.link("a", 0, "q").link("b", 0, "q").link("q", 0, "sink");
    apply(g);
    const json stats = await_packets_in(engine_, "sink", seen + 2000);
    const json q = module_stats(stats, "q");
    seen = module_stats(stats, "sink")["packets_in"];
    EXPECT_EQ(q["packets_in"],
              q["packets_out"].get<uint64_t>() + drops_of(q, "queue_full") + q["queue_depth"].get<uint64_t>());
    EXPECT_EQ(q["packets_in"], module_stats(stats, "a")["packets_out"].get<uint64_t>() +
                                   module_stats(stats, "b")["packets_out"].get<uint64_t>());
    EXPECT_EQ(seen, q["packets_out"]);
  }
  EXPECT_GT(module("a")["packets_out"], 0);
  EXPECT_GT(module("b")["packets_out"], 0);
  engine_.apply(json::parse(testing::kEmptyGraph));
  EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
}

// The second worker has nothing but the queue, so it sleeps until the first wakes it.
TEST_F(TwoWorkerTest, AProducerWakesASleepingConsumer) {
  GraphBuilder g;
  g.module("a", "source", {{"rate_pps", 200}}).task("a", 0).module("q", "queue").task("q", 1);
  g.nf("nf", "l2-forwarder").module("sink", "sink").chain({"a", "q", "nf", "sink"});
  apply(g);
  const json stats = await_packets_in(engine_, "sink", 100);
  uint64_t late = 0;
  const json nf = module_stats(stats, "nf");
  for (const auto& entry : nf["latency_ns"])
    if (Histogram::bucket_lower_ns(entry[0].get<uint32_t>()) > 50'000'000) late += entry[1].get<uint64_t>();
  // Without wake-ups a packet waits for the end of a sleep of 100 ms, half of that on average: about 50 are late. A
  // stall of the machine for so long makes 10 late.
  EXPECT_LT(late, 30u);
}

TEST_F(EngineTest, AnIdleWorkerSleeps) {
  GraphBuilder g;
  g.module("src", "source", {{"rate_pps", 10}}).task("src").module("q", "queue").task("q").module("sink", "sink");
  g.chain({"src", "q", "sink"});
  apply(g);
  const json first = await_packets_in(engine_, "sink", 2);
  const json last = await_packets_in(engine_, "sink", 8);
  const auto cpu = [](const json& s) { return s["workers"][0]["cpu_ns"].get<double>(); };
  const double share = (cpu(last) - cpu(first)) / (last["t_ns"].get<double>() - first["t_ns"].get<double>());
  EXPECT_LT(share, 0.5) << "the worker spins";
}

}  // namespace
}  // namespace orrery
