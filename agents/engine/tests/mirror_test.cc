// SPDX-License-Identifier: Apache-2.0
// Copies that a mirror makes, the bytes that they share, and the identity that they have.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <set>

#include "core/engine.h"
#include "core/packet_meta.h"
#include "core/parallel.h"
#include "engine_fixture.h"
#include "support/clock.h"
#include "support/hop_tag.h"
#include "test_modules.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::build_frame;
using testing::drops_of;
using testing::Frame;
using testing::GraphBuilder;
using testing::module_stats;

json copies_that_write(const std::vector<bool>& writes) {
  json copies = json::array();
  for (const bool it : writes) copies.push_back({{"writes", it}});
  return copies;
}

class MirrorTest : public ::testing::Test {
 protected:
  MirrorTest()
      : engine_({.workers = 1, .cpus = {}, .more_kinds = {&testing::kHolder, &testing::kFieldWriter}}, testing::eal()) {
  }

  void end() {
    engine_.apply(json::parse(testing::kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
  }
  GraphBuilder reading(const std::vector<Frame>& frames) {
    testing::write_capture(dir_.file("in.pcap"), frames);
    GraphBuilder g;
    g.capture_in("in", dir_.file("in.pcap"));
    return g;
  }
  std::vector<Frame> captured(const std::string& name) { return testing::read_capture(dir_.file(name)); }
  uint64_t stamp_of(const Frame& frame) { return read_stamp(frame.data()); }

  testing::TemporaryDirectory dir_;
  Engine engine_;
};

Frame with_stamp_and_hop(Frame frame, uint16_t hop, uint64_t stamp, uint16_t metadata = 0) {
  write_hop_tag(frame.data(), {hop, metadata}, stamp);
  return frame;
}

// What one branch writes, the others do not see, whether they share bytes or not.
TEST_F(MirrorTest, EachBranchHasTheBytesOfTheOriginalAndItsOwnChanges) {
  testing::Rng rng(3);
  for (const std::vector<bool>& writes : std::vector<std::vector<bool>>{{true},
                                                                        {false},
                                                                        {false, false},
                                                                        {true, false},
                                                                        {false, true, false},
                                                                        {true, true},
                                                                        {true, false, true, false}}) {
    std::vector<Frame> frames;
    for (int i = 0; i < 200; ++i) frames.push_back(build_frame(testing::random_spec(rng)));
    GraphBuilder g = reading(frames);
    g.module("mirror", "mirror", {{"nested", false}, {"copies", copies_that_write(writes)}}).chain({"in", "mirror"});
    for (size_t i = 0; i < writes.size(); ++i) {
      const std::string n = std::to_string(i);
      g.module("way-" + n, writes[i] ? "field_writer" : "counter", writes[i] ? json{{"field", "dst"}} : json::object());
      g.module("hop-" + n, "hop_out", {{"hop", i + 1}}).capture_out("out-" + n, dir_.file(n));
      g.link("mirror", static_cast<int>(i), "way-" + n).chain({"way-" + n, "hop-" + n, "out-" + n});
    }
    engine_.apply(g.json);
    const json stats = testing::await_packets_in(engine_, "in", frames.size());
    end();
    EXPECT_EQ(module_stats(stats, "mirror")["packets_in"], frames.size());
    EXPECT_EQ(module_stats(stats, "mirror")["packets_out"], frames.size() * writes.size());
    EXPECT_EQ(module_stats(stats, "mirror")["bytes_out"],
              module_stats(stats, "mirror")["bytes_in"].get<uint64_t>() * writes.size());
    std::vector<std::vector<Frame>> outs;
    for (size_t i = 0; i < writes.size(); ++i) outs.push_back(captured(std::to_string(i)));
    std::set<uint64_t> identities;
    for (size_t n = 0; n < frames.size(); ++n) {
      const uint64_t identity = stamp_of(outs[0].at(n));
      EXPECT_TRUE(identity != 0 && identities.insert(identity).second);
      for (size_t i = 0; i < writes.size(); ++i) {
        Frame expected = frames[n];
        if (writes[i]) testing::write_field(expected, "dst");
        ASSERT_EQ(outs[i].at(n), with_stamp_and_hop(expected, static_cast<uint16_t>(i + 1), identity));
      }
    }
  }
}

TEST_F(MirrorTest, AnIdentityIsTheIngressTimeToAMicrosecondAndOnlyTheOutermostMirrorGivesIt) {
  const uint64_t ingress_ns = monotonic_ns() - 3'000'000;
  const Frame frame = build_frame({});
  GraphBuilder g = reading(std::vector<Frame>(1500, with_stamp_and_hop(frame, 1, ingress_ns)));
  g.module("from-hop", "hop_in", json::parse(R"({"hops":[{"hop":1,"gate":0}]})"));
  g.module("outer", "mirror", {{"nested", false}, {"copies", copies_that_write({false, false})}});
  g.module("inner", "mirror", {{"nested", true}, {"copies", copies_that_write({false, true})}});
  g.chain({"in", "from-hop", "outer", "inner"});
  for (const char* out : {"a", "b", "c"})
    g.module(std::string(out) + "-hop", "hop_out", {{"hop", 2}})
        .capture_out(out, dir_.file(out))
        .link(std::string(out) + "-hop", 0, out);
  g.link("outer", 1, "a-hop").link("inner", 0, "b-hop").link("inner", 1, "c-hop");
  engine_.apply(g.json);
  testing::await_packets_in(engine_, "in", 1500);
  end();
  const std::vector<Frame> a = captured("a");
  EXPECT_EQ(a, captured("b"));
  EXPECT_EQ(a, captured("c"));
  ASSERT_EQ(a.size(), 1500u);
  std::set<uint64_t> identities;
  for (const Frame& out : a) {
    const uint64_t now_ns = monotonic_ns(), identity = stamp_of(out);
    // As many as one microsecond has numbers for.
    if (identities.size() < kIdentityNumberMask) {
      EXPECT_EQ(identity >> 10, (ingress_ns & kStampMask) >> 10);
      EXPECT_NEAR(static_cast<double>(now_ns - read_ingress_ns(out.data(), now_ns)),
                  static_cast<double>(now_ns - ingress_ns), 1024);
    }
    identities.insert(identity);
  }
  EXPECT_EQ(identities.size(), 1500u) << "1,500 packets of one microsecond";
}

TEST_F(MirrorTest, APacketOfWhichACopyCannotBeMadeIsDroppedWithAllItsCopies) {
  rte_mempool* pool = testing::eal().pool();
  const std::vector<Frame> frames(100, build_frame({}));
  GraphBuilder g = reading(frames);
  g.module("mirror", "mirror", {{"nested", false}, {"copies", copies_that_write(std::vector<bool>(15, true))}});
  g.chain({"in", "mirror"});
  for (int i = 0; i < 15; ++i)
    g.module("end-" + std::to_string(i), "sink").link("mirror", i, "end-" + std::to_string(i));
  // The worker finds 64 buffers in the pool and at most 384 in its cache, of 32 + 32 * 14 that a batch needs.
  std::vector<void*> taken(rte_mempool_avail_count(pool));
  size_t count = 0;
  while (count < taken.size() && rte_mempool_generic_get(pool, &taken[count], 1, nullptr) == 0) ++count;
  ASSERT_GT(count, 64u);
  count -= 64;
  rte_mempool_generic_put(pool, &taken[count], 64, nullptr);
  engine_.apply(g.json);
  const json stats = testing::await_packets_in(engine_, "in", frames.size());
  rte_mempool_generic_put(pool, taken.data(), static_cast<unsigned>(count), nullptr);
  end();
  const json mirror = module_stats(stats, "mirror");
  const uint64_t failed = drops_of(mirror, "copy_failed");
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, frames.size());
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(module_stats(stats, "end-" + std::to_string(i))["packets_in"], frames.size() - failed);
}

TEST_F(MirrorTest, SharedBytesAreOwnedWhenNobodyElseIsLeft) {
  rte_mempool* pool = testing::eal().pool();
  const Frame frame = build_frame({});
  rte_mbuf* original = rte_pktmbuf_alloc(pool);
  std::copy(frame.begin(), frame.end(),
            reinterpret_cast<uint8_t*>(rte_pktmbuf_append(original, static_cast<uint16_t>(frame.size()))));
  meta_of(original).reset(arrival_at(5));
  meta_of(original).packet_id = 77;
  EXPECT_TRUE(owns_bytes(original));
  rte_mbuf* clone = rte_pktmbuf_alloc(pool);
  share_into(clone, original);
  EXPECT_EQ(bytes_of(clone), bytes_of(original));
  EXPECT_EQ(meta_of(clone).packet_id, 77u);
  meta_of(clone).metadata = 9;
  EXPECT_EQ(meta_of(original).metadata, 0);
  truncate(clone, 20);
  EXPECT_EQ(original->pkt_len, frame.size());
  EXPECT_FALSE(owns_bytes(original));
  EXPECT_FALSE(owns_bytes(clone));
  rte_mbuf* own = clone;
  ASSERT_TRUE(own_bytes(own));
  EXPECT_NE(bytes_of(own), bytes_of(original));
  EXPECT_EQ(own->pkt_len, 20u);
  EXPECT_EQ(meta_of(own).metadata, 9);
  EXPECT_TRUE(owns_bytes(original));

  rte_mbuf* last = rte_pktmbuf_alloc(pool);
  share_into(last, original);
  rte_pktmbuf_free(original);
  EXPECT_TRUE(owns_bytes(last));
  EXPECT_EQ(Frame(bytes_of(last), bytes_of(last) + last->data_len), frame);
  rte_pktmbuf_free(last);
  rte_pktmbuf_free(own);
  EXPECT_EQ(rte_mempool_in_use_count(pool), 0u);
}

TEST_F(MirrorTest, ARefusedConfigurationNamesItsField) {
  const auto refusal = [&](const json& config) {
    GraphBuilder g;
    g.module("m", "mirror", config);
    return testing::refusal([&] { engine_.apply(g.json); });
  };
  const std::string at = "invalid-config /modules/0/config";
  EXPECT_EQ(refusal({{"copies", copies_that_write({true, true})}}), at + "/nested");
  EXPECT_EQ(refusal({{"nested", 1}, {"copies", copies_that_write({true, true})}}), at + "/nested");
  EXPECT_EQ(refusal({{"nested", false}}), at + "/copies");
  EXPECT_EQ(refusal({{"nested", false}, {"copies", copies_that_write({})}}), at + "/copies");
  EXPECT_EQ(refusal({{"nested", false}, {"copies", copies_that_write(std::vector<bool>(16))}}), at + "/copies");
  EXPECT_EQ(refusal({{"nested", false}, {"copies", json::parse(R"([{"writes":true},{}])")}}), at + "/copies/1/writes");
  EXPECT_EQ(refusal({{"nested", false}, {"copies", copies_that_write({true, true})}, {"more", 1}}), at + "/more");
  EXPECT_EQ(refusal({{"nested", true}, {"copies", copies_that_write(std::vector<bool>(15))}}), "none");
}

// Gate 2 of an NF: what it drops in a branch, it announces.
class NoOpTest : public MirrorTest {
 protected:
  // Packets to port 23 are denied. Of each pair of frames one is, and of each four the first two come with a stamp.
  std::vector<Frame> frames_in_turn() {
    std::vector<Frame> frames;
    for (uint64_t i = 0; i < 200; ++i) {
      Frame frame = build_frame(
          {.dst_port = static_cast<uint16_t>(i % 2 == 0 ? 23 : 80), .payload = std::string(i % 3 == 0 ? 300 : 3, 'x')});
      frames.push_back(with_stamp_and_hop(frame, 1, monotonic_ns() + i));
      if (i % 4 >= 2) frames.back()[6] = 0x02;
    }
    return frames;
  }
  GraphBuilder graph(const std::vector<Frame>& frames, int input) {
    GraphBuilder g = reading(frames);
    g.module("from-hop", "hop_in", json::parse(R"({"hops":[{"hop":1,"gate":0}]})"));
    g.nf("fw", "firewall", json::parse(R"({"rules":[{"action":"deny","dst_port":"23"}]})"));
    g.chain({"in", "from-hop"}).link("from-hop", 0, "fw", input);
    g.capture_out("out", dir_.file("out.pcap")).link("fw", input, "out");
    return g;
  }
};

TEST_F(NoOpTest, WhatAnNfDropsLeavesAsHeadersOnly) {
  const std::vector<Frame> frames = frames_in_turn();
  GraphBuilder g = graph(frames, 0);
  g.capture_out("no-op", dir_.file("no-op.pcap")).link("fw", 2, "no-op");
  engine_.apply(g.json);
  const json stats = testing::await_packets_in(engine_, "in", frames.size());
  end();
  const json firewall = module_stats(stats, "fw");
  EXPECT_EQ(drops_of(firewall, "denied"), 100u);
  EXPECT_EQ(firewall["packets_out"], 100);
  EXPECT_EQ(firewall["bytes_out"], module_stats(stats, "out")["bytes_in"]);
  EXPECT_EQ(module_stats(stats, "no-op")["packets_in"], 50) << "those with an identity";
  std::vector<Frame> expected, passed;
  for (const Frame& frame : frames) {
    const bool denied = parse_packet(frame).dst_port == 23;
    if (!denied) passed.push_back(frame);
    if (denied && frame[6] == 0x06)
      expected.emplace_back(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(std::min<size_t>(frame.size(), 78)));
  }
  EXPECT_EQ(captured("no-op.pcap"), expected);
  EXPECT_EQ(captured("out.pcap"), passed);
}

TEST_F(NoOpTest, RepliesAreNotAnnouncedAndHaveNoIdentity) {
  const std::vector<Frame> frames = frames_in_turn();
  GraphBuilder g = graph(frames, 1);
  g.capture_out("no-op", dir_.file("no-op.pcap")).link("fw", 2, "no-op");
  g.json["links"].erase(2);
  g.module(
      "merge", "merge",
      json::parse(
          R"({"nested":false,"branches":[{"writes":false,"resizes_at":null},{"writes":false,"resizes_at":null}]})"));
  g.link("fw", 1, "merge");
  engine_.apply(g.json);
  const json stats = testing::await_packets_in(engine_, "in", frames.size());
  end();
  EXPECT_EQ(drops_of(module_stats(stats, "fw"), "denied"), 100u);
  EXPECT_EQ(module_stats(stats, "no-op")["packets_in"], 0);
  EXPECT_EQ(drops_of(module_stats(stats, "merge"), "no_identity"), 100u);
}

TEST_F(NoOpTest, WithoutALinkADropIsADrop) {
  const std::vector<Frame> frames = frames_in_turn();
  engine_.apply(graph(frames, 0).json);
  const json stats = testing::await_packets_in(engine_, "in", frames.size());
  end();
  EXPECT_EQ(module_stats(stats, "fw")["drops"], json::parse(R"({"denied":100})"));
}

}  // namespace
}  // namespace orrery
