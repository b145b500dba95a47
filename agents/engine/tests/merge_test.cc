// SPDX-License-Identifier: Apache-2.0
// A merge alone: copies that are lost, late, doubled and out of order, against a model; and changes of its graph.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <deque>
#include <map>

#include "core/engine.h"
#include "core/parallel.h"
#include "engine_fixture.h"
#include "support/clock.h"
#include "support/hop_tag.h"
#include "test_modules.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::drops_of;
using testing::Frame;
using testing::GraphBuilder;
using testing::module_stats;

constexpr uint64_t kForever_us = 10'000'000;

json branches_that_write(const std::vector<bool>& writes) {
  json branches = json::array();
  for (const bool it : writes) branches.push_back({{"writes", it}, {"resizes_at", nullptr}});
  return branches;
}

// A frame that is not IP: type 0x88b5, packet number, then one part for each branch.
constexpr size_t kParts = 22, kPartBytes = 4;

Frame numbered_frame(uint32_t number) {
  Frame frame(kParts + kMaxCopies * kPartBytes);
  store_be16(&frame[12], 0x88b5);
  store_be32(&frame[14], number);
  for (size_t i = 18; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(size_t{number} * 7 + i);
  return frame;
}

void change_part(Frame& frame, size_t branch) {
  for (size_t i = 0; i < kPartBytes; ++i) frame[kParts + branch * kPartBytes + i] ^= 0x81 + i;
}

// A packet that reaches a merge, at a branch's input or at that for no-op packets.
struct Arrival {
  uint32_t number;
  uint8_t input;
  uint16_t metadata = 0;
};

class MergeTest : public ::testing::Test {
 protected:
  MergeTest()
      : engine_({.workers = 1, .cpus = {}, .more_kinds = {&testing::kHolder}}, testing::eal()),
        start_ns_(monotonic_ns()) {}

  // Identity of a packet, some microseconds ago.
  uint64_t identity(uint32_t number) const {
    return (start_ns_ - 4'000'000'000u + uint64_t{number} * 1024) & kStampMask;
  }
  uint32_t number_of(const Frame& frame) const {
    return static_cast<uint32_t>(((read_stamp(frame.data()) - identity(0)) & kStampMask) / 1024);
  }

  Frame frame_of(const Arrival& arrival, const std::vector<bool>& writes) const {
    Frame frame = numbered_frame(arrival.number);
    if (arrival.input < writes.size() && writes[arrival.input]) change_part(frame, arrival.input);
    write_hop_tag(frame.data(), {static_cast<uint16_t>(arrival.input + 1), arrival.metadata}, identity(arrival.number));
    return frame;
  }

  // `in`, which brings each arrival to its input of `merge`; `merge` to the captures out.pcap and no-op.pcap.
  GraphBuilder graph(const std::vector<Arrival>& arrivals, const std::vector<bool>& writes, json config,
                     const std::string& delayed = "") {
    std::vector<Frame> frames;
    for (const Arrival& arrival : arrivals) frames.push_back(frame_of(arrival, writes));
    testing::write_capture(dir_.file("in.pcap"), frames);
    json hops = json::array();
    for (int i = 0; i <= kNoOpInput; ++i) hops.push_back({{"hop", i + 1}, {"gate", i}});
    config["branches"] = branches_that_write(writes);
    GraphBuilder g;
    g.capture_in("in", dir_.file("in.pcap")).module("from-hop", "hop_in", {{"hops", hops}}).chain({"in", "from-hop"});
    g.module("merge", "merge", config);
    for (int i = 0; i <= kNoOpInput; ++i) {
      const bool held = i == 0 && !delayed.empty();
      g.link(held ? delayed : "from-hop", held ? 0 : i, "merge", i);
    }
    g.module("to-hop", "hop_out", {{"hop", 99}}).capture_out("out", dir_.file("out.pcap"));
    g.chain({"merge", "to-hop", "out"});
    g.capture_out("no-op", dir_.file("no-op.pcap")).link("merge", 1, "no-op");
    return g;
  }

  void end() {
    engine_.apply(json::parse(testing::kEmptyGraph));
    EXPECT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u);
  }
  std::vector<Frame> captured(const std::string& name) { return testing::read_capture(dir_.file(name)); }
  std::vector<uint32_t> numbers(const std::string& name) {
    std::vector<uint32_t> out;
    for (const Frame& frame : captured(name)) out.push_back(number_of(frame));
    return out;
  }

  testing::TemporaryDirectory dir_;
  Engine engine_;
  uint64_t start_ns_;
};

// What a merge is to do, without time-outs.
class MergeModel {
 public:
  MergeModel(size_t branches, size_t capacity) : branches_(branches), capacity_(capacity) {}

  void arrive(const Arrival& arrival) {
    if (arrival.input == kNoOpInput) return no_op(arrival.number);
    if (arrival.input >= branches_) return drop("no_branch");
    Known& known = find_or_add(arrival.number);
    if (known.arrived.contains(arrival.input)) return drop("duplicate_copy");
    known.arrived[arrival.input] = arrival.metadata;
    if (known.done) return drop("late_copy");
    if (known.no_ops > 0) return finish_if_all(arrival.number);
    if (known.arrived.size() < branches_) return;
    merged.push_back(arrival.number);
    uint16_t all = 0;
    for (const auto& [input, metadata] : known.arrived) all |= metadata;
    metadata.push_back(all);
    finish(arrival.number);
  }

  std::vector<uint32_t> merged;
  std::vector<uint16_t> metadata;
  std::vector<uint32_t> given_up;
  std::map<std::string, uint64_t> drops;

 private:
  struct Known {
    std::map<uint8_t, uint16_t> arrived;
    size_t no_ops = 0;
    bool done = false;
  };

  void drop(const std::string& reason) { ++drops[reason]; }

  void no_op(uint32_t number) {
    Known& known = find_or_add(number);
    if (known.done) return drop("late_copy");
    if (known.no_ops++ == 0) {
      drop("branch_dropped");
      given_up.push_back(number);
    }
    finish_if_all(number);
  }

  Known& find_or_add(uint32_t number) {
    if (const auto it = known_.find(number); it != known_.end()) return it->second;
    if (open_.size() == capacity_) {
      const uint32_t oldest = open_.front();
      if (known_[oldest].no_ops == 0) {
        drop("table_full");
        given_up.push_back(oldest);
      }
      finish(oldest);
    }
    open_.push_back(number);
    return known_[number];
  }

  void finish_if_all(uint32_t number) {
    const Known& known = known_[number];
    if (known.arrived.size() + known.no_ops >= branches_) finish(number);
  }

  void finish(uint32_t number) {
    if (done_.size() == capacity_) {
      known_.erase(done_.front());
      done_.pop_front();
    }
    known_[number].done = true;
    open_.erase(std::ranges::find(open_, number));
    done_.push_back(number);
  }

  size_t branches_, capacity_;
  std::map<uint32_t, Known> known_;
  std::deque<uint32_t> open_, done_;
};

// Copies of packets in turn, with faults, in an order that is not far from that of the packets.
std::vector<Arrival> faulty_arrivals(testing::Rng& rng, uint32_t packets, size_t branches, uint64_t disorder) {
  std::vector<std::pair<uint64_t, Arrival>> timed;
  for (uint32_t number = 0; number < packets; ++number) {
    for (size_t branch = 0; branch < branches; ++branch) {
      const uint64_t fate = rng() % 20;
      if (fate == 0) continue;
      const int times = fate == 1 ? 2 : 1;
      for (int n = 0; n < times; ++n) {
        const uint64_t at = uint64_t{number} * 4 + rng() % disorder;
        timed.push_back({at,
                         {number, fate == 2 ? kNoOpInput : static_cast<uint8_t>(branch),
                          static_cast<uint16_t>(rng() & rng() & rng())}});
      }
    }
    if (rng() % 200 == 0) timed.push_back({uint64_t{number} * 4, {number, static_cast<uint8_t>(branches), 0}});
  }
  std::ranges::stable_sort(timed, {}, [](const auto& it) { return it.first; });
  std::vector<Arrival> out;
  for (const auto& it : timed) out.push_back(it.second);
  return out;
}

struct MergeCase {
  std::vector<bool> writes;
  bool nested;
  uint32_t capacity;
  uint64_t disorder;
};

class MergeAgainstModel : public MergeTest, public ::testing::WithParamInterface<MergeCase> {};

TEST_P(MergeAgainstModel, MergesGivesUpAndCountsAsTheModelDoes) {
  const auto& [writes, nested, capacity, disorder] = GetParam();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    testing::Rng rng(seed);
    const std::vector<Arrival> arrivals = faulty_arrivals(rng, 1500, writes.size(), disorder);
    MergeModel model(writes.size(), capacity);
    // A pass brings at most a batch, by input.
    for (size_t first = 0; first < arrivals.size(); first += kBatchSize) {
      std::vector<Arrival> batch(
          arrivals.begin() + static_cast<ptrdiff_t>(first),
          arrivals.begin() + static_cast<ptrdiff_t>(std::min(first + kBatchSize, arrivals.size())));
      std::ranges::stable_sort(batch, {}, &Arrival::input);
      for (const Arrival& arrival : batch) model.arrive(arrival);
    }
    engine_.apply(
        graph(arrivals, writes, {{"nested", nested}, {"capacity", capacity}, {"timeout_us", kForever_us}}).json);
    const json stats = testing::await_packets_in(engine_, "in", arrivals.size());
    end();
    const json merge = module_stats(stats, "merge");
    EXPECT_EQ(merge["packets_in"], arrivals.size());
    EXPECT_EQ(merge["packets_out"], model.merged.size());
    EXPECT_EQ(merge["drops"], json(model.drops));
    EXPECT_EQ(numbers("no-op.pcap"), nested ? model.given_up : std::vector<uint32_t>{});
    const std::vector<Frame> out = captured("out.pcap");
    ASSERT_EQ(out.size(), model.merged.size());
    EXPECT_GT(out.size(), 100u);
    for (size_t i = 0; i < out.size(); ++i) {
      Frame expected = numbered_frame(model.merged[i]);
      for (size_t branch = 0; branch < writes.size(); ++branch)
        if (writes[branch]) change_part(expected, branch);
      write_hop_tag(expected.data(), {99, model.metadata[i]}, identity(model.merged[i]));
      ASSERT_EQ(out[i], expected) << "packet " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MergeAgainstModel,
    ::testing::Values(MergeCase{{false, false}, false, 4096, 200}, MergeCase{{false, true}, true, 4096, 200},
                      MergeCase{{true, false, false}, false, 64, 200}, MergeCase{{false, false, false}, true, 64, 300},
                      MergeCase{{true, true, false}, false, 4096, 300}, MergeCase{{true, false, true}, true, 64, 240},
                      MergeCase{{true, false, true, true, false, true}, true, 256, 1000},
                      MergeCase{std::vector<bool>(15, false), false, 100, 400}));

std::vector<Arrival> both_copies(uint32_t packets, uint8_t first = 0) {
  std::vector<Arrival> out;
  for (const uint8_t branch : {first, static_cast<uint8_t>(1 - first)})
    for (uint32_t number = 0; number < packets; ++number) out.push_back({number, branch, 0});
  return out;
}

TEST_F(MergeTest, APacketWhoseCopyIsLostIsGivenUpAfterTheTimeoutAndAnnounced) {
  std::vector<Arrival> arrivals = both_copies(1000);
  std::erase_if(arrivals, [](const Arrival& it) { return it.input == 1 && it.number % 2 == 0; });
  const uint64_t began_ns = monotonic_ns();
  engine_.apply(graph(arrivals, {true, false}, {{"nested", true}, {"timeout_us", 300'000}}).json);
  const json stats = testing::await_stats(engine_, [](const json& s) {
    return drops_of(module_stats(s, "merge"), "copy_lost") == 500 && module_stats(s, "out")["packets_in"] == 500;
  });
  EXPECT_GE(monotonic_ns() - began_ns, 300'000'000u);
  end();
  EXPECT_EQ(module_stats(stats, "merge")["queue_depth"], 0);
  std::vector<uint32_t> lost, merged;
  for (uint32_t n = 0; n < 1000; ++n) (n % 2 == 0 ? lost : merged).push_back(n);
  EXPECT_EQ(numbers("out.pcap"), merged);
  EXPECT_EQ(numbers("no-op.pcap"), lost);
}

TEST_F(MergeTest, ACopyThatComesAfterTheTimeoutIsLateAndWaitsForNothing) {
  GraphBuilder g = graph(both_copies(300, 1), {false, false}, {{"nested", false}, {"timeout_us", 1'500'000}}, "hold");
  g.module("hold", "holder", {{"hold_ms", 2200}}).link("from-hop", 0, "hold");
  engine_.apply(g.json);
  const json stats =
      testing::await_stats(engine_, [](const json& s) { return module_stats(s, "merge")["packets_in"] == 600; });
  end();
  const json merge = module_stats(stats, "merge");
  EXPECT_EQ(merge["drops"], json::parse(R"({"copy_lost":300,"late_copy":300})"));
  EXPECT_EQ(merge["queue_depth"], 0);
}

TEST_F(MergeTest, AnOutermostMergeTakesTheIdentityAwayAndANestedOneKeepsIt) {
  for (const bool nested : {false, true}) {
    GraphBuilder g = graph(both_copies(100), {false, false}, {{"nested", nested}});
    g.json["links"].erase(g.json["links"].size() - 3);
    g.module("next", "merge", {{"nested", false}, {"branches", branches_that_write({false, false})}});
    g.link("merge", 0, "next");
    engine_.apply(g.json);
    const json stats = testing::await_packets_in(engine_, "next", 100);
    end();
    EXPECT_EQ(drops_of(module_stats(stats, "next"), "no_identity"), nested ? 0u : 100u);
  }
}

TEST_F(MergeTest, ARefusedConfigurationNamesItsField) {
  const auto refusal = [&](json config, const char* at, const json& value) {
    config[json::json_pointer(at)] = value;
    GraphBuilder g;
    g.module("m", "merge", config);
    return testing::refusal([&] { engine_.apply(g.json); });
  };
  const json right = {{"nested", false}, {"branches", branches_that_write({true, true, false})}};
  const std::string at = "invalid-config /modules/0/config";
  EXPECT_EQ(refusal(right, "/capacity", 64), "none");
  EXPECT_EQ(refusal(right, "/capacity", 63), at + "/capacity");
  EXPECT_EQ(refusal(right, "/capacity", 65537), at + "/capacity");
  EXPECT_EQ(refusal(right, "/timeout_us", 99), at + "/timeout_us");
  EXPECT_EQ(refusal(right, "/timeout_us", 10'000'001), at + "/timeout_us");
  EXPECT_EQ(refusal(right, "/nested", nullptr), at + "/nested");
  EXPECT_EQ(refusal(right, "/branches", branches_that_write({true})), at + "/branches");
  EXPECT_EQ(refusal(right, "/branches", branches_that_write(std::vector<bool>(16))), at + "/branches");
  EXPECT_EQ(refusal(right, "/branches/2/writes", true), at + "/branches");
  EXPECT_EQ(refusal(right, "/branches/1/resizes_at", "l5"), at + "/branches/1/resizes_at");
  EXPECT_EQ(refusal(right, "/branches/1/resizes_at", "l4"), "none");
  EXPECT_EQ(refusal(right, "/branches/2/resizes_at", "l4"), at + "/branches/2/resizes_at");
  EXPECT_EQ(refusal(right, "/branches/1/more", 1), at + "/branches/1/more");
  json two = right;
  two["branches"][0]["resizes_at"] = "end";
  EXPECT_EQ(refusal(two, "/branches/1/resizes_at", "end"), at + "/branches/1/resizes_at");
}

// Branch 0 is held back while the graph changes; the copies of branch 1 wait.
class MergeChange : public MergeTest {
 protected:
  static constexpr int kHoldMs = 600;

  GraphBuilder held_graph(uint32_t packets, const std::vector<bool>& writes, const json& config) {
    GraphBuilder g = graph(both_copies(packets, 1), writes, config, "hold");
    return g.module("hold", "holder", {{"hold_ms", kHoldMs}}).link("from-hop", 0, "hold");
  }
  void await_waiting(uint32_t packets) {
    testing::await_stats(engine_, [&](const json& s) {
      return module_stats(s, "merge")["queue_depth"] == packets && module_stats(s, "hold")["packets_in"] == packets;
    });
  }
  json await_all_merged(uint32_t copies) {
    return testing::await_stats(engine_,
                                [&](const json& s) { return module_stats(s, "merge")["packets_in"] == copies; });
  }
};

TEST_F(MergeChange, PacketsThatWaitGoOnWaitingThroughNewGraphsOfAnyCapacity) {
  const json config = {{"nested", false}, {"capacity", 2000}, {"timeout_us", kForever_us}};
  GraphBuilder g = held_graph(1000, {true, false}, config);
  engine_.apply(g.json);
  await_waiting(1000);
  for (const int capacity : {2000, 4096, 1000, 1500}) {
    g.json["modules"][2]["config"]["capacity"] = capacity;
    engine_.apply(g.generation(capacity).json);
    EXPECT_EQ(module_stats(engine_.stats(), "merge")["queue_depth"], 1000);
  }
  const json stats = await_all_merged(2000);
  end();
  EXPECT_EQ(module_stats(stats, "merge")["drops"], json::object());
  const std::vector<uint32_t> out = numbers("out.pcap");
  EXPECT_EQ(out.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(out));
}

TEST_F(MergeChange, ASmallerTableGivesUpTheOldestPacketsAndAnnouncesThem) {
  GraphBuilder g = held_graph(1000, {true, false}, {{"nested", true}, {"capacity", 1000}, {"timeout_us", kForever_us}});
  engine_.apply(g.json);
  await_waiting(1000);
  g.json["modules"][2]["config"]["capacity"] = 64;
  engine_.apply(g.generation(2).json);
  const json stats = await_all_merged(2000);
  end();
  EXPECT_EQ(module_stats(stats, "merge")["drops"], json::parse(R"({"table_full":936,"late_copy":936})"));
  std::vector<uint32_t> announced = numbers("no-op.pcap"), out = numbers("out.pcap");
  ASSERT_EQ(announced.size(), 936u);
  EXPECT_EQ(announced.back(), 935u);
  ASSERT_EQ(out.size(), 64u);
  EXPECT_EQ(out.front(), 936u);
}

TEST_F(MergeChange, WithOtherBranchesWhatWaitsIsGivenUpAndCounted) {
  GraphBuilder g = held_graph(500, {true, false}, {{"nested", true}, {"timeout_us", kForever_us}});
  engine_.apply(g.json);
  await_waiting(500);
  g.json["modules"][2]["config"]["branches"] = branches_that_write({true, false, false});
  engine_.apply(g.generation(2).json);
  engine_.apply(g.generation(3).json);
  testing::await_stats(engine_, [](const json& s) { return drops_of(module_stats(s, "merge"), "copy_lost") == 500; });
  end();
  EXPECT_EQ(captured("no-op.pcap").size(), 500u);
}

TEST_F(MergeChange, WhatWaitsIsFreedWithTheMerge) {
  engine_.apply(held_graph(500, {true, false}, {{"nested", false}, {"timeout_us", kForever_us}}).json);
  await_waiting(500);
  end();
}

}  // namespace
}  // namespace orrery
