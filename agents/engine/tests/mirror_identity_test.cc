// SPDX-License-Identifier: Apache-2.0
// Packets that reached the engine in one burst and reach a mirror at different times, as behind two instances of which
// one has more to do: each is merged with its own copies alone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/engine.h"
#include "engine_fixture.h"
#include "support/checksum.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::build_frame;
using testing::Frame;
using testing::GraphBuilder;

constexpr uint16_t kAtOnce = 1000, kLater = 1001;
constexpr size_t kUdpSourcePort = 34;

class MirrorIdentityTest : public ::testing::Test {
 protected:
  MirrorIdentityTest() : engine_({.workers = 1, .cpus = {}}, testing::eal()) {}

  // `packets` from either port in turn. Those from kLater wait until all others have passed a step of a monitor beside
  // a firewall with these rules, whose drops the merge hears of or not. The source ports of what comes out.
  std::vector<uint16_t> run(int packets, const json& rules, bool announced) {
    std::vector<Frame> frames;
    for (int i = 0; i < packets; ++i) {
      const uint16_t port = i % 2 == 0 ? kAtOnce : kLater;
      frames.push_back(build_frame({.src_port = port, .proto = 17, .payload = std::to_string(i)}));
    }
    testing::write_capture(dir_.file("in.pcap"), frames);
    const json reads = {{"writes", false}};
    const json branch = {{"writes", false}, {"resizes_at", nullptr}};
    const json later = {{{"match", {{{"field", "port.src"}, {"lo", kLater}, {"hi", kLater}}}}, {"gate", 1}}};
    GraphBuilder g;
    g.capture_in("in", dir_.file("in.pcap"))
        .module("classify", "classify", {{"rules", later}, {"default_gate", 0}})
        .module("queue", "queue", {{"capacity", 65536}})
        .task("queue")
        .module("mirror", "mirror", {{"nested", false}, {"copies", {reads, reads}}})
        .module("monitor", "monitor")
        .module("firewall", "firewall", {{"rules", rules}})
        .module("merge", "merge", {{"nested", false}, {"branches", {branch, branch}}, {"timeout_us", 10000}})
        .capture_out("out", dir_.file("out.pcap"))
        .link("in", 0, "classify")
        .link("classify", 0, "mirror")
        .link("classify", 1, "queue")
        .link("queue", 0, "mirror")
        .link("mirror", 0, "monitor")
        .link("mirror", 1, "firewall")
        .link("monitor", 0, "merge", 0)
        .link("firewall", 0, "merge", 1)
        .link("merge", 0, "out");
    if (announced) g.link("firewall", 2, "merge", 15);
    const auto node = [](const char* kind, const char* id, json parent, json level) {
      return json{{"kind", kind}, {"id", id}, {"parent", parent}, {"weight", nullptr}, {"level", level}};
    };
    json first = node("task", "first", "root", 0), second = node("task", "second", "root", 1);
    first["module"] = "in";
    second["module"] = "queue";
    g.json["schedulers"] = {{{"worker", 0}, {"tree", {node("priority", "root", nullptr, nullptr), first, second}}}};
    engine_.apply(g.json);
    testing::await_stats(engine_, [&](const json& stats) {
      return testing::module_stats(stats, "mirror")["packets_in"] == packets &&
             testing::module_stats(stats, "merge")["queue_depth"] == 0;
    });
    engine_.apply(json::parse(testing::kEmptyGraph));
    std::vector<uint16_t> ports;
    for (const Frame& frame : testing::read_capture(dir_.file("out.pcap")))
      ports.push_back(load_be16(frame.data() + kUdpSourcePort));
    return ports;
  }

  testing::TemporaryDirectory dir_;
  Engine engine_;
};

TEST_F(MirrorIdentityTest, PacketsOfOneBurstThatComeLaterAreAllMerged) {
  for (const int packets : {64, 1000, 2048, 4096, 8192})
    EXPECT_EQ(run(packets, json::array(), true).size(), static_cast<size_t>(packets));
}

TEST_F(MirrorIdentityTest, WhatABranchDropsUnheardIsNotCompletedByAnotherPacket) {
  const json deny = {{{"action", "deny"}, {"proto", "udp"}, {"src_port", kAtOnce}}};
  EXPECT_EQ(run(2048, deny, false), std::vector<uint16_t>(1024, kLater));
}

}  // namespace
}  // namespace orrery
