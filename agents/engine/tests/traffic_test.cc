// SPDX-License-Identifier: Apache-2.0
// Captures through graphs: what comes in must come out at the right place with the right bytes.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <map>
#include <random>

#include "core/engine.h"
#include "engine_fixture.h"
#include "nfs/config_reader.h"
#include "support/clock.h"
#include "support/flow_hash.h"
#include "support/hop_tag.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::build_frame;
using testing::drops_of;
using testing::Frame;
using testing::FrameSpec;
using testing::GraphBuilder;
using testing::module_stats;

class TrafficTest : public ::testing::Test {
 protected:
  TrafficTest() : engine_({}, testing::eal()) {}

  // Runs the graph, which reads `in.pcap` at module `in`, on the frames until `in` has seen them all.
  json run(const GraphBuilder& graph, size_t frames) {
    engine_.apply(graph.json);
    testing::await_packets_in(engine_, "in", frames);
    json stats = engine_.stats();
    // Closes captures, so that they can be read.
    engine_.apply(json::parse(testing::kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u) << "packet buffers were lost";
    return stats;
  }

  GraphBuilder reading(const std::vector<Frame>& frames) {
    testing::write_capture(dir_.file("in.pcap"), frames);
    GraphBuilder g;
    g.capture_in("in", dir_.file("in.pcap"));
    return g;
  }

  std::vector<Frame> captured(const std::string& name) { return testing::read_capture(dir_.file(name)); }

  testing::TemporaryDirectory dir_;
  Engine engine_;
};

Frame tagged(Frame frame, uint16_t hop, uint16_t metadata, uint64_t ingress_ns) {
  write_hop_tag(frame.data(), {hop, metadata}, ingress_ns);
  return frame;
}

TEST_F(TrafficTest, AHopIsReadAndWrittenWithItsMetadataAndIngressTime) {
  const uint64_t ingress_ns = monotonic_ns() - 5'000'000;
  const Frame plain = build_frame({});
  Frame untimed = tagged(plain, 8, 3, 0);
  untimed[6] = 0x02;
  Frame stray = plain;
  std::vector<Frame> frames = {tagged(plain, 7, 0xbeef, ingress_ns), untimed, tagged(plain, 9, 0, ingress_ns), stray,
                               Frame(13, 2)};
  GraphBuilder g = reading(frames);
  g.module("hops", "hop_in", json::parse(R"({"hops":[{"hop":7,"gate":0},{"hop":8,"gate":5}]})"));
  g.module("seven", "hop_out", {{"hop", 0x1234}}).module("eight", "hop_out", {{"hop", 1}});
  g.capture_out("out-7", dir_.file("7.pcap")).capture_out("out-8", dir_.file("8.pcap"));
  g.chain({"in", "hops", "seven", "out-7"}).link("hops", 5, "eight").chain({"eight", "out-8"});
  const uint64_t before_ns = monotonic_ns();
  const json stats = run(g, frames.size());
  const uint64_t after_ns = monotonic_ns();

  ASSERT_EQ(captured("7.pcap").size(), 1u);
  EXPECT_EQ(captured("7.pcap")[0], tagged(plain, 0x1234, 0xbeef, ingress_ns));
  ASSERT_EQ(captured("8.pcap").size(), 1u);
  const Frame eight = captured("8.pcap")[0];
  HopTag tag{};
  ASSERT_TRUE(read_hop_tag(eight.data(), tag));
  EXPECT_EQ(tag.hop, 1);
  EXPECT_EQ(tag.metadata, 3);
  const uint64_t stamp = read_ingress_ns(eight.data(), after_ns);
  EXPECT_GE(stamp, before_ns - 10'000);
  EXPECT_LE(stamp, after_ns + 10'000);
  const json hops = module_stats(stats, "hops");
  EXPECT_EQ(hops["drops"], json::parse(R"({"no_tag":1,"unknown_hop":1,"runt":1})"));
  EXPECT_EQ(hops["packets_in"], 5);
}

TEST_F(TrafficTest, AnExitMeasuresFromTheFirstEngineAndHandsToTheGateway) {
  const uint64_t now_ns = monotonic_ns();
  const std::vector<Frame> frames = {tagged(build_frame({}), 1, 0, now_ns - 2'000'000'000u),
                                     build_frame({.dst_port = 81})};
  GraphBuilder g = reading(frames);
  g.module("untag", "hop_in", json::parse(R"({"hops":[{"hop":1,"gate":0}]})"));
  g.module("split", "classify",
           json::parse(R"({"rules":[{"match":[{"field":"port.dst","lo":80,"hi":80}],"gate":0}],"default_gate":1})"));
  g.module("x", "exit", {{"exit_id", "x"}, {"dst_mac", "02:00:00:00:00:aa"}, {"src_mac", "0a:bc:de:00:00:ff"}});
  g.capture_out("out", dir_.file("out.pcap"));
  g.chain({"in", "split", "untag", "x", "out"}).link("split", 1, "x");
  const json stats = run(g, frames.size());

  ASSERT_EQ(captured("out.pcap").size(), 2u);
  for (const Frame& frame : captured("out.pcap")) {
    const uint8_t macs[12] = {0x02, 0, 0, 0, 0, 0xaa, 0x0a, 0xbc, 0xde, 0, 0, 0xff};
    EXPECT_EQ(0, std::memcmp(frame.data(), macs, 12));
  }
  const json latency = module_stats(stats, "x")["latency_ns"];
  ASSERT_EQ(testing::histogram_count(latency), 2u);
  // One began two seconds ago on another engine, one here and now.
  EXPECT_GE(latency.back()[0], Histogram::bucket_of(2'000'000'000u));
  EXPECT_LT(latency.back()[0], Histogram::bucket_of(12'000'000'000u));
  EXPECT_LT(latency.front()[0], Histogram::bucket_of(1'900'000'000u));
}

TEST_F(TrafficTest, ALatencyStampStartsTheMeasurementAnew) {
  const std::vector<Frame> frames = {tagged(build_frame({}), 1, 0, monotonic_ns() - 60'000'000'000u)};
  GraphBuilder g = reading(frames);
  g.module("untag", "hop_in", json::parse(R"({"hops":[{"hop":1,"gate":0}]})")).module("stamp", "latency_stamp");
  g.module("x", "exit", {{"exit_id", "x"}, {"dst_mac", "02:00:00:00:00:aa"}, {"src_mac", "0a:bc:de:00:00:ff"}});
  g.module("sink", "sink").chain({"in", "untag", "stamp", "x", "sink"});
  const json latency = module_stats(run(g, 1), "x")["latency_ns"];
  ASSERT_EQ(testing::histogram_count(latency), 1u);
  EXPECT_LT(latency[0][0], Histogram::bucket_of(50'000'000'000u));
}

TEST_F(TrafficTest, TheFirstRuleThatMatchesDecides) {
  std::vector<Frame> frames;
  for (uint16_t port : {80, 443, 8080, 53}) frames.push_back(build_frame({.dst_port = port}));
  frames.push_back(testing::arp_frame());
  const auto graph = [&](const json& default_gate) {
    GraphBuilder g = reading(frames);
    json config = json::parse(R"({"rules":[
      {"match":[{"field":"port.dst","lo":0,"hi":100},{"field":"ip.proto","value":6}],"gate":3},
      {"match":[{"field":"port.dst","lo":0,"hi":500}],"gate":1},
      {"match":[{"field":"ip.src","prefix":"10.0.0.0/8"},{"field":"metadata","offset":0,"width":4,"value":0}],"gate":2}]})");
    config["default_gate"] = default_gate;
    g.module("c", "classify", config);
    for (int gate = 0; gate < 4; ++gate)
      g.module("g" + std::to_string(gate), "sink").link("c", gate, "g" + std::to_string(gate));
    g.chain({"in", "c"});
    return g;
  };
  const auto counts = [](const json& stats) {
    std::vector<int> out;
    for (int gate = 0; gate < 4; ++gate) out.push_back(module_stats(stats, "g" + std::to_string(gate))["packets_in"]);
    return out;
  };
  const json with_default = run(graph(0), frames.size());
  EXPECT_EQ(counts(with_default), (std::vector<int>{1, 1, 1, 2}));
  const json without = run(graph(nullptr), frames.size());
  EXPECT_EQ(counts(without), (std::vector<int>{0, 1, 1, 2}));
  EXPECT_EQ(drops_of(module_stats(without, "c"), "no_match"), 1u);
}

TEST_F(TrafficTest, EachFlowLeavesByTheRangeThatHoldsIt) {
  std::mt19937_64 rng(2);
  std::vector<Frame> frames;
  for (int i = 0; i < 4000; ++i)
    frames.push_back(
        build_frame({.src = static_cast<uint32_t>(0x0a000000 + i / 4), .src_port = static_cast<uint16_t>(1 + i % 4)}));
  const std::vector<uint32_t> bounds = {0, 1, 9000, 40000, 65535, 65536};
  GraphBuilder g = reading(frames);
  json ranges = json::array();
  // Gate i has [bounds[i], bounds[i + 1]); the order of the list must not matter.
  for (int gate : {4, 0, 3, 1, 2})
    ranges.push_back({{"range", {{"lo", bounds[gate]}, {"hi", bounds[gate + 1]}}}, {"gate", gate}});
  g.module("h", "hash_split", {{"key", {"ip.src"}}, {"ranges", ranges}}).chain({"in", "h"});
  for (int gate = 0; gate < 5; ++gate) {
    const std::string name = "g" + std::to_string(gate);
    g.capture_out(name, dir_.file(name + ".pcap")).link("h", gate, name);
  }
  run(g, frames.size());

  const FlowHash hash({.ip_src = true});
  size_t total = 0;
  std::array<size_t, 5> at{};
  for (int gate = 0; gate < 5; ++gate) {
    for (const Frame& frame : captured("g" + std::to_string(gate) + ".pcap")) {
      const uint32_t flow = hash(parse_packet(frame));
      EXPECT_GE(flow, bounds[gate]);
      EXPECT_LT(flow, bounds[gate + 1]);
      ++total;
      ++at[gate];
    }
  }
  EXPECT_EQ(total, frames.size());
  // Gate 2 has 31,000 of 65,536 identities; four packets each share an address.
  EXPECT_NEAR(static_cast<double>(at[2]) / 4000, 31000.0 / 65536, 0.06);
  EXPECT_EQ(at[2] % 4, 0u) << "packets of one flow were parted";
}

TEST_F(TrafficTest, CompleteRangesLoseNothing) {
  std::mt19937_64 rng(9);
  std::vector<Frame> frames;
  for (int i = 0; i < 2000; ++i) frames.push_back(build_frame(testing::random_spec(rng)));
  for (int round = 0; round < 8; ++round) {
    std::vector<uint32_t> cuts = {0, 65536};
    for (uint64_t i = rng() % 20; i > 0; --i) cuts.push_back(1 + static_cast<uint32_t>(rng() % 65535));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    json ranges = json::array();
    for (size_t i = 1; i < cuts.size(); ++i)
      ranges.push_back({{"range", {{"lo", cuts[i - 1]}, {"hi", cuts[i]}}}, {"gate", i - 1}});
    GraphBuilder g = reading(frames);
    g.module("h", "hash_split", {{"key", {"ip.src", "ip.dst", "port.dst"}}, {"ranges", ranges}}).chain({"in", "h"});
    g.module("sink", "sink");
    for (size_t i = 1; i < cuts.size(); ++i) g.link("h", static_cast<int>(i - 1), "sink");
    const json stats = run(g, frames.size());
    EXPECT_EQ(module_stats(stats, "sink")["packets_in"], frames.size());
  }
}

// The demo's second chain, on one server: clients -> firewall -> NAT -> monitor, and replies back through NAT.
TEST_F(TrafficTest, AChainOfNfsFromCaptureToCapture) {
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i)
    frames.push_back(tagged(build_frame({.src = static_cast<uint32_t>(0x0a010000 + i % 50),
                                         .dst = 0xc0a80001,
                                         .src_port = static_cast<uint16_t>(2000 + i % 10),
                                         .dst_port = static_cast<uint16_t>(i % 5 == 0 ? 23 : 80)}),
                            1, 0, monotonic_ns()));
  const auto graph = [&](const std::vector<Frame>& input) {
    GraphBuilder g = reading(input);
    g.module("hops", "hop_in", json::parse(R"({"hops":[{"hop":1,"gate":0},{"hop":2,"gate":1}]})"));
    for (const char* queue : {"fw:q", "nat:q", "nat:return-q", "mon:q"}) g.module(queue, "queue").task(queue);
    g.nf("fw", "firewall", json::parse(R"({"rules":[{"action":"deny","dst_port":"23"}],"default_action":"allow"})"));
    g.nf("nat", "nat", json::parse(R"({"external_addresses":["203.0.113.7"]})")).nf("mon", "monitor");
    g.module("x", "exit", {{"exit_id", "x"}, {"dst_mac", "02:00:00:00:00:aa"}, {"src_mac", "0a:bc:de:00:00:ff"}});
    g.module("back", "exit", {{"exit_id", "b"}, {"dst_mac", "02:00:00:00:00:aa"}, {"src_mac", "0a:bc:de:00:00:ff"}});
    g.capture_out("out", dir_.file("out.pcap")).capture_out("out-back", dir_.file("back.pcap"));
    g.chain({"in", "hops", "fw:q", "fw", "nat:q", "nat", "mon:q", "mon", "x", "out"});
    g.link("hops", 1, "nat:return-q")
        .link("nat:return-q", 0, "nat", 1)
        .link("nat", 1, "back")
        .link("back", 0, "out-back");
    return g;
  };
  engine_.apply(graph(frames).json);
  const json stats = testing::await_packets_in(engine_, "x", 400);
  EXPECT_EQ(drops_of(module_stats(stats, "fw"), "denied"), 100u);
  // Full batches that were not measured wait for one that is.
  EXPECT_GT(testing::histogram_count(module_stats(stats, "nat")["latency_ns"]), 0u);
  EXPECT_LE(testing::histogram_count(module_stats(stats, "nat")["latency_ns"]), 400u);
  const json monitored = engine_.get_state("mon", 1000);
  const json nat_state = engine_.export_state("nat");
  engine_.apply(json::parse(testing::kEmptyGraph));

  const std::vector<Frame> out = captured("out.pcap");
  ASSERT_EQ(out.size(), 400u);
  std::map<std::pair<uint32_t, uint16_t>, Frame> originals;
  std::map<uint16_t, int> flows;
  std::vector<Frame> replies;
  for (const Frame& frame : out) {
    const ParsedPacket p = parse_packet(frame);
    EXPECT_EQ(address_text(p.ip_src), "203.0.113.7");
    EXPECT_EQ(p.dst_port, 80);
    EXPECT_TRUE(testing::checksums_hold(frame));
    ++flows[p.src_port];
    replies.push_back(tagged(build_frame({.src = p.ip_dst, .dst = p.ip_src, .src_port = 80, .dst_port = p.src_port}), 2,
                             0, monotonic_ns()));
  }
  EXPECT_EQ(monitored["flow_count"], flows.size());

  // Replies through an instance that took over the first one's flows.
  engine_.apply(graph({}).json);
  engine_.import_state("nat", nat_state);
  GraphBuilder second = graph(replies);
  second.json["ports"][0]["name"] = "in-port-2";
  second.json["modules"][0]["config"]["port"] = "in-port-2";
  engine_.apply(second.json);
  testing::await_packets_in(engine_, "back", 400);
  engine_.apply(json::parse(testing::kEmptyGraph));
  const std::vector<Frame> back = captured("back.pcap");
  ASSERT_EQ(back.size(), 400u);
  for (const Frame& frame : back) {
    const ParsedPacket p = parse_packet(frame);
    EXPECT_EQ(p.ip_dst & 0xffff0000, 0x0a010000u);
    EXPECT_TRUE(testing::checksums_hold(frame));
  }
}

TEST_F(TrafficTest, FramesLongerThanThePortCarriesAreCounted) {
  std::vector<Frame> frames = {Frame(1518, 1), Frame(1519, 1), Frame(2000, 1),
                               Frame(9000, 1), Frame(60, 1),   Frame(1, 1)};
  GraphBuilder g = reading(frames);
  g.capture_out("out", dir_.file("out.pcap")).chain({"in", "out"});
  const json stats = run(g, frames.size());
  EXPECT_EQ(drops_of(module_stats(stats, "in"), "oversize"), 3u);
  EXPECT_EQ(drops_of(module_stats(stats, "out"), "runt"), 1u);
  EXPECT_EQ(captured("out.pcap").size(), 2u);
}

json tunnel(const char* mode, const char* acceleration = "instructions") {
  return {{"mode", mode}, {"acceleration", acceleration}, {"clamp_mss", false}, {"key", std::string(64, 'c')}};
}

TEST_F(TrafficTest, AnNfMakesPacketsLongerAndShorter) {
  testing::Rng rng(5);
  std::vector<Frame> frames;
  uint64_t bytes = 0;
  for (int i = 0; i < 500; ++i) {
    FrameSpec spec = testing::random_spec(rng);
    spec.padding = 0;
    frames.push_back(build_frame(spec));
    bytes += frames.back().size();
  }
  GraphBuilder g = reading(frames);
  g.nf("near", "crypto-tunnel", tunnel("encrypt")).nf("far", "crypto-tunnel", tunnel("decrypt"));
  g.capture_out("out", dir_.file("out.pcap")).chain({"in", "near", "far", "out"});
  const json stats = run(g, frames.size());
  EXPECT_EQ(captured("out.pcap"), frames);
  EXPECT_EQ(module_stats(stats, "near")["bytes_in"], bytes);
  EXPECT_EQ(module_stats(stats, "far")["bytes_out"], bytes);
  EXPECT_EQ(module_stats(stats, "near")["bytes_out"], module_stats(stats, "far")["bytes_in"]);
  EXPECT_GE(module_stats(stats, "near")["bytes_out"], bytes + 62 * frames.size());
}

TEST_F(TrafficTest, ATunnelChangesItsAccelerationUnderTrafficAndLosesNothing) {
  const auto graph = [](int generation, const char* near, const char* far) {
    GraphBuilder g;
    g.generation(generation).module("src", "source", {{"rate_pps", 20000}, {"packet_bytes", 200}}).task("src");
    g.nf("near", "crypto-tunnel", tunnel("encrypt", near)).nf("far", "crypto-tunnel", tunnel("decrypt", far));
    g.module("sink", "sink").chain({"src", "near", "far", "sink"});
    return g.json;
  };
  const char* modes[] = {"instructions", "none"};
  for (int generation = 1; generation <= 12; ++generation) {
    engine_.apply(graph(generation, modes[generation % 2], modes[generation / 2 % 2]));
    testing::await_packets_in(engine_, "sink", static_cast<uint64_t>(generation) * 200);
    EXPECT_EQ(engine_.get_state("near", 1)["acceleration"], modes[generation % 2]);
  }
  const json near = engine_.get_state("near", 2), far = engine_.get_state("far", 2);
  const json stats = engine_.stats();
  EXPECT_EQ(near["sessions_sent"], 1);
  EXPECT_EQ(far["sessions_received"], 1);
  EXPECT_GE(far["unprotected"]["packets"], 2400);
  for (const char* name : {"near", "far"}) {
    const json module = module_stats(stats, name);
    EXPECT_TRUE(module["drops"].empty()) << module["drops"];
    EXPECT_EQ(module["packets_in"], module["packets_out"]);
  }
  EXPECT_EQ(module_stats(stats, "sink")["packets_in"], module_stats(stats, "src")["packets_out"]);
  engine_.apply(json::parse(testing::kEmptyGraph));
}

// Every malformed frame through every module and NF, in both directions: all are accounted for, none harms.
TEST_F(TrafficTest, MalformedFramesGoThroughEverything) {
  testing::Rng rng(77);
  std::vector<Frame> frames;
  for (int round = 0; round < 10; ++round)
    for (Frame& frame : testing::malformed_corpus(rng)) {
      if (frame.empty()) continue;
      if (frame.size() >= kEthernetHeader && rng() % 2 == 0)
        write_hop_tag(frame.data(), {static_cast<uint16_t>(1 + rng() % 3), static_cast<uint16_t>(rng())}, rng());
      frames.push_back(std::move(frame));
    }
  for (int i = 0; i < 2000; ++i) {
    Frame frame = build_frame(testing::random_spec(rng));
    for (uint64_t flips = rng() % 8; flips > 0; --flips) frame[rng() % frame.size()] = static_cast<uint8_t>(rng());
    frames.push_back(std::move(frame));
  }
  ASSERT_GT(frames.size(), 3000u);

  GraphBuilder g = reading(frames);
  g.module("hops", "hop_in", json::parse(R"({"hops":[{"hop":1,"gate":0},{"hop":2,"gate":1}]})"));
  g.module("direct", "counter").module("spread", "classify", json::parse(R"({"rules":[
      {"match":[{"field":"ip.src","prefix":"0.0.0.0/1"},{"field":"port.src","lo":1,"hi":60000,"not":true}],"gate":0},
      {"match":[{"field":"metadata","offset":3,"width":9,"value":77,"not":true}],"gate":1}],"default_gate":2})"));
  // Odd and even hashes of the frames go into the two directions of each NF; what hop_in refuses goes in as well.
  const json halves =
      json::parse(R"([{"range":{"lo":0,"hi":32768},"gate":0},{"range":{"lo":32768,"hi":65536},"gate":1}])");
  g.module("first", "hash_split",
           {{"key", {"ip.src", "ip.dst", "ip.proto", "port.src", "port.dst"}}, {"ranges", halves}});
  g.chain({"in", "direct", "first"});
  const std::vector<std::pair<const char*, json>> nfs = {
      {"l2-forwarder", {{"swap_macs", true}}},
      {"ids", json::object()},
      {"firewall", json::parse(R"({"rules":[{"action":"deny","proto":"udp","dst_port":"1-100"}]})")},
      {"rate-limiter", {{"rate_bps", 1'000'000'000}}},
      {"monitor", json::object()},
      {"nat", json::parse(R"({"external_addresses":["203.0.113.7"]})")},
      {"crypto-tunnel", tunnel("encrypt")},
  };
  std::string from = "first";
  for (const auto& [kind, config] : nfs) {
    const std::string q0 = std::string(kind) + ":q0", q1 = std::string(kind) + ":q1";
    g.module(q0, "queue", {{"capacity", 8192}}).task(q0).module(q1, "queue", {{"capacity", 8192}}).task(q1);
    g.nf(kind, kind, config);
    g.link(from, 0, q0).link(from, 1, q1).link(q0, 0, kind, 0).link(q1, 0, kind, 1);
    from = kind;
  }
  g.module("last", "hop_out", {{"hop", 2}}).link(from, 0, "last").link(from, 1, "last").link("last", 0, "spread");
  g.module("stamp", "latency_stamp");
  g.module("x", "exit", {{"exit_id", "x"}, {"dst_mac", "02:00:00:00:00:aa"}, {"src_mac", "0a:bc:de:00:00:ff"}});
  g.link("spread", 0, "hops").link("spread", 1, "hops").link("spread", 2, "hops").link("hops", 1, "stamp");
  g.capture_out("out", dir_.file("out.pcap")).chain({"stamp", "x", "out"});
  engine_.apply(g.json);

  // Each module passes on, drops or holds what it took in.
  const auto settled = [&](const json& stats) {
    if (module_stats(stats, "in")["packets_in"] != frames.size()) return false;
    for (const json& m : stats["modules"]) {
      uint64_t gone = m["packets_out"];
      for (const auto& [reason, count] : m["drops"].items()) gone += count.get<uint64_t>();
      if (gone != m["packets_in"].get<uint64_t>()) return false;
    }
    return true;
  };
  const json stats = testing::await_stats(engine_, settled);
  engine_.apply(json::parse(testing::kEmptyGraph));
  EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
  EXPECT_GT(module_stats(stats, "x")["packets_out"], 0);
  EXPECT_EQ(captured("out.pcap").size(), module_stats(stats, "out")["packets_out"]);
  uint64_t lost = 0;
  for (const json& m : stats["modules"])
    for (const auto& [reason, count] : m["drops"].items()) lost += count.get<uint64_t>();
  EXPECT_EQ(lost + captured("out.pcap").size(), frames.size());
}

}  // namespace
}  // namespace orrery
