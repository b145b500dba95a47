// SPDX-License-Identifier: Apache-2.0
// The steering of flows against a model of its own, in time that the test sets.
#include "modules/hash_split/flow_steering.h"

#include <gtest/gtest.h>
#include <time.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "nfs/testing/allocation_count.h"
#include "support/errors.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr uint64_t kMsInNs = 1'000'000;
constexpr uint64_t kIdleNs = 1000 * kMsInNs;
// To which the order of last use is exact, so that an idle flow may hold its place in a full table for so much longer.
constexpr uint64_t kOrderNs = 100 * kMsInNs;
constexpr FlowKey kFiveTuple{true, true, true, true, true};

ParsedPacket packet_of(uint32_t flow) {
  ParsedPacket p;
  p.kind = PacketKind::kIpTransport;
  p.ip_src = 0x0a000000 + flow / 7;
  p.ip_dst = 0x0a010001;
  p.ip_proto = 17;
  p.src_port = static_cast<uint16_t>(1000 + flow % 7);
  p.dst_port = 53;
  return p;
}

struct ModelRange {
  uint32_t lo;
  uint32_t hi;
  uint16_t gate;
};

json to_json(const std::vector<ModelRange>& ranges) {
  json out = json::array();
  for (const ModelRange& r : ranges) out.push_back({{"range", {{"lo", r.lo}, {"hi", r.hi}}}, {"gate", r.gate}});
  return out;
}

std::vector<ModelRange> random_ranges(std::mt19937_64& rng, uint16_t gates) {
  std::vector<uint32_t> cuts = {0, 65536};
  for (uint64_t i = rng() % 6; i > 0; --i) cuts.push_back(1 + static_cast<uint32_t>(rng() % 65535));
  std::ranges::sort(cuts);
  cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
  std::vector<ModelRange> out;
  for (size_t i = 1; i < cuts.size(); ++i) out.push_back({cuts[i - 1], cuts[i], static_cast<uint16_t>(rng() % gates)});
  std::ranges::shuffle(out, rng);
  return out;
}

// Runs a FlowSteering and the model side by side.
class SteeringBench {
 public:
  SteeringBench(uint64_t seed, uint32_t flows, uint32_t capacity)
      : rng_(seed), flows_(flows), capacity_(capacity), ranges_(random_ranges(rng_, kGates)) {
    use(ranges_);
    steering_ = std::make_unique<FlowSteering>(SteeringLimits{capacity, kIdleNs});
  }

  void step() {
    switch (rng_() % 40) {
      case 0:
        change_ranges(rng_() % 4 != 0);
        break;
      case 1:
        swap_graph();
        break;
      case 2:
        now_ += rng_() % (2 * kIdleNs);
        break;
      case 3:
        steering_->expire(now_, static_cast<uint32_t>(rng_() % 50));
        break;
      default:
        now_ += rng_() % (20 * kMsInNs);
        packets();
    }
  }

  void check_figures() {
    std::map<uint16_t, uint32_t> flows, exceptions;
    uint32_t total_exceptions = 0;
    std::map<uint32_t, uint16_t> held;
    steering_->table().for_each([&](const FlowSteering::Entry& entry) {
      const uint16_t gate = entry.value.gate;
      ++flows[gate];
      const bool elsewhere = gate != model_gate(entry.value.hash);
      EXPECT_TRUE(steering_->idle_too_long(entry, now_) || entry.value.exception == elsewhere) << "settled, yet wrong";
      exceptions[gate] += entry.value.exception ? 1 : 0;
      total_exceptions += entry.value.exception ? 1 : 0;
      if (!steering_->idle_too_long(entry, now_)) held[number_of(entry.key)] = gate;
      return true;
    });
    for (uint16_t gate = 0; gate < 256; ++gate) {
      ASSERT_EQ(steering_->flows_at(static_cast<uint8_t>(gate)), flows[gate]) << gate;
      ASSERT_EQ(steering_->exceptions_at(static_cast<uint8_t>(gate)), exceptions[gate]) << gate;
    }
    ASSERT_EQ(steering_->exceptions(), total_exceptions);
    ASSERT_EQ(held, in_progress());
    ASSERT_EQ(steering_->exception_packets(), exception_packets_);
    ASSERT_EQ(steering_->displaced(), displaced_);
    ASSERT_LE(steering_->table().size(), steering_->limits().capacity);
  }

  uint64_t kept() const { return exception_packets_; }
  uint64_t untracked() const { return steering_->untracked(); }
  uint64_t displaced() const { return displaced_; }

 private:
  static constexpr uint16_t kGates = 5;

  struct Flow {
    uint16_t gate;
    uint64_t seen;
  };

  bool in_progress(const Flow& flow) const { return now_ - flow.seen < kIdleNs; }
  std::map<uint32_t, uint16_t> in_progress() const {
    std::map<uint32_t, uint16_t> out;
    for (const auto& [number, flow] : model_)
      if (in_progress(flow)) out[number] = flow.gate;
    return out;
  }

  uint32_t number_of(const FlowIdentity& flow) const {
    return (static_cast<uint32_t>(flow.src.low) - 0x0a000000) * 7 + flow.src_port() - 1000;
  }

  uint16_t model_gate(uint16_t hash) const {
    for (const ModelRange& range : ranges_)
      if (hash >= range.lo && hash < range.hi) return range.gate;
    throw std::logic_error("no range holds it");
  }

  void use(std::vector<ModelRange> ranges) {
    ranges_ = std::move(ranges);
    in_force_ = std::make_unique<SplitRanges>(to_json(ranges_), "");
  }

  // One packet at a time, so that the model learns which flows found no room.
  void packets() {
    for (uint64_t n = rng_() % 33; n > 0; --n) {
      const auto number = static_cast<uint32_t>(std::min(rng_() % flows_, rng_() % flows_));
      const ParsedPacket packet = packet_of(number);
      const uint16_t hash = hash_(packet);
      const FlowIdentity flow = identify_(packet);
      const uint16_t by_range = model_gate(hash);
      ASSERT_EQ(in_force_->gate_of(hash), by_range);
      uint16_t gate = by_range;
      const uint64_t untracked = steering_->untracked();
      const uint64_t allocations = testing::allocation_count();
      steering_->steer({&flow, 1}, {&hash, 1}, {&gate, 1}, now_);
      ASSERT_EQ(testing::allocation_count(), allocations);
      const auto known = model_.find(number);
      if (known != model_.end() && in_progress(known->second)) {
        ASSERT_EQ(gate, known->second.gate) << "flow " << number << " moved";
        ASSERT_EQ(steering_->untracked(), untracked);
        known->second.seen = now_;
        exception_packets_ += gate != by_range ? 1 : 0;
        continue;
      }
      ASSERT_EQ(gate, by_range) << "flow " << number << " is new and follows the ranges";
      model_.erase(number);
      if (steering_->untracked() != untracked) {
        // Flows of another table keep their room there until all have moved.
        ASSERT_TRUE(settling_ || recent(kIdleNs + kOrderNs) >= steering_->limits().capacity) << "there was room";
      } else {
        model_[number] = {gate, now_};
      }
    }
  }

  size_t recent(uint64_t age) const {
    return static_cast<size_t>(
        std::ranges::count_if(model_, [&](const auto& one) { return now_ - one.second.seen < age; }));
  }

  void settle(bool with_packets = true) {
    settling_ = true;
    while (steering_->settle(*in_force_, 1 + rng_() % 20, now_))
      if (with_packets && rng_() % 2 == 0) packets();
    settling_ = false;
  }

  void change_ranges(bool keep) {
    use(random_ranges(rng_, kGates));
    steering_->ranges_changed(keep);
    if (!keep)
      for (auto& [number, flow] : model_) flow.gate = model_gate(hash_(packet_of(number)));
    settle();
    check_figures();
  }

  // Gates of the new graph: moved about, and some of them gone.
  void swap_graph() {
    std::vector<uint16_t> to(kGates);
    for (uint16_t gate = 0; gate < kGates; ++gate) to[gate] = gate;
    std::ranges::shuffle(to, rng_);
    GateMap map(kMaxGates, kGateGone);
    for (uint16_t gate = 0; gate < kGates; ++gate)
      if (rng_() % 5 != 0) map[gate] = to[gate];
    const uint32_t before = steering_->table().size();
    const bool resize = rng_() % 4 == 0;
    const uint32_t capacity =
        resize ? 1 + static_cast<uint32_t>(rng_() % (uint64_t{2} * capacity_)) : steering_->limits().capacity;
    auto next = std::make_unique<FlowSteering>(SteeringLimits{capacity, kIdleNs});
    use(random_ranges(rng_, kGates));
    const uint64_t allocations = testing::allocation_count();
    next->adopt(*steering_, map);
    ASSERT_EQ(testing::allocation_count(), allocations);
    ASSERT_TRUE(!resize || capacity == steering_->limits().capacity || next->table().size() == 0) << "moved at once";
    ASSERT_EQ(next->flows(), before);
    std::swap(steering_, next);  // the engine keeps the old one until all is settled
    if (before > capacity) {
      settle(false);
      forget_what_did_not_fit();
    }
    for (auto& [number, flow] : model_) {
      const uint16_t moved = map[flow.gate];
      displaced_ += moved == kGateGone && in_progress(flow) ? 1 : 0;
      flow.gate = moved == kGateGone ? model_gate(hash_(packet_of(number))) : moved;
    }
    settle();
    check_figures();
  }

  // Precondition: settled, without a packet since the graphs were swapped.
  void forget_what_did_not_fit() {
    std::map<uint32_t, bool> fits;
    uint64_t oldest = UINT64_MAX;
    steering_->table().for_each([&](const FlowSteering::Entry& entry) {
      fits[number_of(entry.key)] = true;
      oldest = std::min(oldest, entry.last_seen_ns);
      return true;
    });
    std::erase_if(model_, [&](const auto& one) {
      if (fits.contains(one.first)) return false;
      if (!in_progress(one.second)) return true;
      ++displaced_;
      EXPECT_LE(one.second.seen, oldest + kOrderNs) << "a younger flow made room for an older one";
      return true;
    });
  }

  std::mt19937_64 rng_;
  uint32_t flows_;
  uint32_t capacity_;
  std::vector<ModelRange> ranges_;
  std::unique_ptr<SplitRanges> in_force_;
  std::unique_ptr<FlowSteering> steering_;
  FlowHash hash_{kFiveTuple};
  FlowIdentifier identify_{kFiveTuple};
  uint64_t now_ = 5 * kIdleNs;
  bool settling_ = false;
  std::map<uint32_t, Flow> model_;
  uint64_t exception_packets_ = 0;
  uint64_t displaced_ = 0;
};

class FlowSteeringModel : public ::testing::TestWithParam<int> {};

TEST_P(FlowSteeringModel, NoFlowInProgressMovesAndAllOthersFollowTheRanges) {
  SteeringBench run(static_cast<uint64_t>(GetParam()), 300, 600);
  for (int i = 0; i < 8000 && !::testing::Test::HasFatalFailure(); ++i) run.step();
  run.check_figures();
  EXPECT_GT(run.kept(), 1000u);
  EXPECT_GT(run.displaced(), 100u);
}

TEST_P(FlowSteeringModel, AFullTableLeavesNewFlowsToTheRanges) {
  SteeringBench run(static_cast<uint64_t>(GetParam()) + 100, 300, 40);
  for (int i = 0; i < 8000 && !::testing::Test::HasFatalFailure(); ++i) run.step();
  run.check_figures();
  EXPECT_GT(run.kept(), 100u);
  EXPECT_GT(run.untracked(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FlowSteeringModel, ::testing::Range(0, 6));

uint64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Flows that were all used within the grain of the order, in which they stand in no order of time.
TEST(FlowSteering, MovesToAnotherTableInTimeThatGrowsWithTheFlowsAlone) {
  constexpr uint32_t kFlows = 50'000;
  constexpr uint64_t kNow = 5 * kIdleNs;
  const FlowHash hash_of(kFiveTuple);
  const FlowIdentifier identify(kFiveTuple);
  FlowSteering old({kFlows, kIdleNs}), next({2 * kFlows, kIdleNs});
  const auto use = [&](uint32_t number, uint64_t now_ns) {
    const ParsedPacket packet = packet_of(number);
    const FlowIdentity flow = identify(packet);
    const uint16_t hash = hash_of(packet);
    uint16_t gate = 0;
    old.steer({&flow, 1}, {&hash, 1}, {&gate, 1}, now_ns);
  };
  for (uint32_t i = 0; i < kFlows; ++i) use(i, kNow);
  std::mt19937_64 rng(5);
  for (uint32_t i = 0; i < kFlows; ++i) use(i, kNow + rng() % kOrderNs);
  const GateMap same(kMaxGates, 0);
  const SplitRanges ranges(to_json({{0, 65536, 0}}), "");
  next.adopt(old, same);
  const uint64_t began_ns = thread_cpu_ns();
  while (next.settle(ranges, 64, kNow + kOrderNs)) continue;
  EXPECT_LT(thread_cpu_ns() - began_ns, 1'000'000'000u);
  EXPECT_EQ(next.table().size(), kFlows);
  EXPECT_EQ(next.displaced(), 0u);
}

// Few values of each field, so that equal ones meet.
ParsedPacket packet_of_few(std::mt19937_64& rng) {
  const auto few = [&] { return static_cast<uint16_t>(rng() % 3); };
  ParsedPacket p;
  const std::array kinds = {PacketKind::kMalformed, PacketKind::kNonIp, PacketKind::kIpOther, PacketKind::kIpTransport};
  p.kind = kinds[rng() % kinds.size()];
  p.ip_version = p.kind == PacketKind::kNonIp ? 0 : rng() % 2 == 0 ? 4 : 6;
  p.fragment = rng() % 4 == 0;
  p.ip_proto = static_cast<uint8_t>(few());
  p.src_port = few();
  p.dst_port = few();
  if (p.ip_version == 4) {
    p.ip_src = few();
    p.ip_dst = few();
  }
  p.ipv6_src = {few(), few()};
  p.ipv6_dst = {few(), few()};
  return p;
}

// The field as text; that of a packet without it is "0".
std::string field_of(const ParsedPacket& p, int field) {
  const bool ipv6 = p.ip_version == 6 && p.kind != PacketKind::kMalformed;
  const auto address = [&](uint32_t v4, const Ipv6Address& v6) {
    return ipv6 ? "v6 " + std::to_string(v6.high) + " " + std::to_string(v6.low) : std::to_string(v4);
  };
  switch (field) {
    case 0:
      return address(p.ip_src, p.ipv6_src);
    case 1:
      return address(p.ip_dst, p.ipv6_dst);
    case 2:
      return std::to_string(ipv6 && p.fragment ? 0 : p.ip_proto);
    case 3:
      return std::to_string(p.fragment ? 0 : p.src_port);
    default:
      return std::to_string(p.fragment ? 0 : p.dst_port);
  }
}

TEST(FlowIdentity, IsEqualForFlowsThatTheKeyCannotTellApartAndHasTheirHash) {
  std::mt19937_64 rng(3);
  for (int mask = 0; mask < 32; ++mask) {
    const FlowKey key{(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0, (mask & 16) != 0};
    const FlowHash hash(key);
    const FlowIdentifier identify(key);
    for (int i = 0; i < 3000; ++i) {
      const ParsedPacket a = packet_of_few(rng), b = packet_of_few(rng);
      bool same = true;
      for (int field = 0; field < 5; ++field)
        same = same && ((mask >> field & 1) == 0 || field_of(a, field) == field_of(b, field));
      ASSERT_EQ(identify(a) == identify(b), same) << "key " << mask;
      ASSERT_TRUE(!same || hash(a) == hash(b)) << "key " << mask;
    }
  }
}

std::string fault_of(const json& ranges) {
  try {
    const SplitRanges parsed(ranges, "/ranges");
    return "none";
  } catch (const EngineError& error) {
    return std::string(error.code) + " " + error.pointer;
  }
}

TEST(SplitRanges, PartitionTheSpaceOrAreRefusedWithAPointer) {
  EXPECT_EQ(fault_of(to_json({{0, 65536, 3}})), "none");
  EXPECT_EQ(fault_of(to_json({{9, 65536, 0}, {0, 9, 1}})), "none");
  EXPECT_EQ(fault_of(to_json({{9, 65536, 0}, {0, 10, 1}})), "invalid-config /ranges/0/range");
  EXPECT_EQ(fault_of(to_json({{9, 65536, 0}, {0, 8, 1}})), "invalid-config /ranges/0/range/lo");
  EXPECT_EQ(fault_of(to_json({{9, 65535, 0}, {0, 9, 1}})), "invalid-config /ranges/0/range/hi");
  EXPECT_EQ(fault_of(to_json({{1, 65536, 0}})), "invalid-config /ranges/0/range/lo");
  EXPECT_EQ(fault_of(to_json({{0, 5, 0}, {9, 65536, 1}})), "invalid-config /ranges/1/range/lo");
  EXPECT_EQ(fault_of(json::array()), "invalid-config /ranges");
  EXPECT_EQ(fault_of(json(3)), "invalid-config /ranges");
  EXPECT_EQ(fault_of(to_json(std::vector<ModelRange>(257, {0, 1, 0}))), "invalid-config /ranges");
  EXPECT_EQ(fault_of(to_json({{0, 65537, 0}})), "invalid-config /ranges/0/range/hi");
}

// Every identity, against a search from the first range to the last.
TEST(SplitRanges, FindTheRangeOfEveryFlow) {
  std::mt19937_64 rng(11);
  for (int round = 0; round < 30; ++round) {
    std::vector<ModelRange> ranges;
    uint32_t at = 0;
    const uint64_t longest = round % 3 == 0 ? 3 : round % 3 == 1 ? 300 : 30000;
    while (at < 65536) {
      const bool last = ranges.size() == 255;
      const auto hi = last ? 65536 : static_cast<uint32_t>(std::min<uint64_t>(65536, at + 1 + rng() % longest));
      ranges.push_back({at, hi, static_cast<uint16_t>(rng() % 256)});
      at = hi;
    }
    std::ranges::shuffle(ranges, rng);
    const SplitRanges parsed(to_json(ranges), "");
    std::vector<uint16_t> expected(65536);
    for (const ModelRange& r : ranges) std::fill(expected.begin() + r.lo, expected.begin() + r.hi, r.gate);
    for (uint32_t flow = 0; flow < 65536; ++flow)
      ASSERT_EQ(parsed.gate_of(static_cast<uint16_t>(flow)), expected[flow]) << flow;
  }
}

}  // namespace
}  // namespace orrery
