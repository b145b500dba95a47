// SPDX-License-Identifier: Apache-2.0
// A merge in time that the test makes: copies that are lost, late, doubled and out of order, no-op packets, time-outs
// that run at once or when a busy worker comes to it, against a model that knows nothing of how the merge does it.
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/graph.h"
#include "core/packet_meta.h"
#include "core/parallel.h"
#include "core/pass.h"
#include "core/waker.h"
#include "engine_fixture.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr size_t kTimedPartBytes = 3, kTimedFrameBytes = 14 + kMaxCopies * kTimedPartBytes;

// What a copy arrives with, or a merged packet leaves with.
struct TimedCopy {
  uint64_t id;
  uint8_t input;
  uint16_t metadata;
  uint64_t ingress_ns;
  auto operator<=>(const TimedCopy&) const = default;
};

uint8_t part_byte(uint64_t id, size_t at) {
  return static_cast<uint8_t>(id * 31 + at * 7);
}

// Sends what it is given out of the gate that is the copy's input.
class Feeder final : public TaskModule {
 public:
  explicit Feeder(const ModuleContext& context) : pool_(context.pool) {}

  uint32_t poll(Pass& pass) override {
    for (const TimedCopy& copy : next) {
      rte_mbuf* packet = rte_pktmbuf_alloc(pool_);
      PacketMeta& meta = meta_of(packet);
      meta.reset(arrival_at(copy.ingress_ns));
      meta.packet_id = copy.id;
      meta.metadata = copy.metadata;
      auto* bytes = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(packet, kTimedFrameBytes));
      for (size_t i = 0; i < kTimedFrameBytes; ++i) bytes[i] = part_byte(copy.id, i);
      if (copy.input < writes.size() && writes[copy.input]) bytes[14 + copy.input * kTimedPartBytes] ^= 0x5a;
      pass.emit(copy.input, {&packet, 1});
    }
    return static_cast<uint32_t>(next.size());
  }
  void process(Pass&, Batch&, uint8_t) override {}
  Wakeup wakeup() const override { return {}; }

  std::vector<TimedCopy> next;
  std::vector<bool> writes;

 private:
  rte_mempool* pool_;
};

// Runs the timer of a module, for which time has come.
class Ticker final : public TaskModule {
 public:
  explicit Ticker(const ModuleContext&) {}
  uint32_t poll(Pass& pass) override {
    timed->on_timer(pass);
    return 1;
  }
  void process(Pass&, Batch&, uint8_t) override {}
  Wakeup wakeup() const override { return {}; }

  Module* timed = nullptr;
};

class Collector final : public Module {
 public:
  explicit Collector(const ModuleContext&) {}
  void process(Pass& pass, Batch& batch, uint8_t) override {
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      const PacketMeta& meta = meta_of(packet);
      seen.push_back({meta.packet_id, 0, meta.metadata, meta.ingress_ns});
      frames.emplace_back(bytes_of(packet), bytes_of(packet) + packet->data_len);
      pass.discard(packet);
    }
  }
  std::vector<TimedCopy> seen;
  std::vector<testing::Frame> frames;
};

template <class Made>
ModuleKind timing_kind(const char* name, uint8_t inputs, uint16_t gates, ModuleKind::Role role) {
  return {
      .name = name,
      .inputs = inputs,
      .gates = gates,
      .role = role,
      .port_use = ModuleKind::PortUse::kNone,
      .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Made>(context); }};
}

const ModuleKind kFeeder = timing_kind<Feeder>("feeder", 0, kNoOpInput + 1, ModuleKind::Role::kTask);
const ModuleKind kTicker = timing_kind<Ticker>("ticker", 0, 2, ModuleKind::Role::kTask);
const ModuleKind kCollector = timing_kind<Collector>("collector", 2, 1, ModuleKind::Role::kStep);

// A merge without a worker.
class MergeInTime {
 public:
  MergeInTime(const std::vector<bool>& writes, uint32_t capacity, uint64_t timeout_us) {
    json branches = json::array();
    for (const bool it : writes) branches.push_back({{"writes", it}, {"resizes_at", nullptr}});
    testing::GraphBuilder g;
    g.module("feeder", "feeder").task("feeder").module("ticker", "ticker").task("ticker");
    g.module("merge", "merge",
             {{"nested", true}, {"branches", branches}, {"capacity", capacity}, {"timeout_us", timeout_us}});
    g.module("out", "collector").module("no-ops", "collector");
    for (int input = 0; input <= kNoOpInput; ++input) g.link("feeder", input, "merge", input);
    g.link("merge", 0, "out").link("ticker", 0, "out", 1).link("merge", kMergeNoOpGate, "no-ops");
    g.link("ticker", kMergeNoOpGate, "no-ops", 1);
    const ModuleKind* const kinds[] = {&kFeeder, &kTicker, &kCollector};
    graph_ = build_graph(parse_graph(g.json, 1, kinds), nullptr, eal_.pool(), stream_log_, {&waker_});
    pass_.set_graph(graph_.get());
    pass_.resume();
    module<Feeder>("feeder").writes = writes;
    module<Ticker>("ticker").timed = &merge();
  }

  // Copies in one batch for each input.
  void deliver(const std::vector<TimedCopy>& copies, uint64_t now_ns) {
    module<Feeder>("feeder").next = copies;
    pass_.run(node("feeder"), now_ns);
  }
  void tick(uint64_t now_ns) {
    while (merge().due_ns() != 0 && merge().due_ns() <= now_ns) pass_.run(node("ticker"), now_ns);
  }

  Module& merge() { return *node("merge").module; }
  Collector& out() { return module<Collector>("out"); }
  Collector& no_ops() { return module<Collector>("no-ops"); }
  std::map<std::string, uint64_t> drops() {
    std::map<std::string, uint64_t> counted;
    for (size_t i = 0; i < merge().drop_reasons().size(); ++i)
      if (merge().counters.drops[i] != 0) counted[merge().drop_reasons()[i]] = merge().counters.drops[i];
    return counted;
  }

 private:
  Node& node(const char* name) { return *graph_->by_name.find(name)->second; }
  template <class Made>
  Made& module(const char* name) {
    return static_cast<Made&>(*node(name).module);
  }

  Eal& eal_ = testing::eal();  // before the clock of the pass
  Waker waker_;
  StreamLog stream_log_{4096};
  std::unique_ptr<Graph> graph_;
  Pass pass_;
};

// What README.md says of a merge, on a list of packets in the order in which their first copies came.
class TimedModel {
 public:
  TimedModel(size_t branches, size_t capacity, uint64_t timeout_ns)
      : branches_(branches), capacity_(capacity), timeout_ns_(timeout_ns) {}

  void tick(uint64_t now_ns) {
    for (auto it = oldest(); it != packets_.end() && it->first_ns + timeout_ns_ <= now_ns; it = oldest())
      give_up(it, "copy_lost", now_ns);
  }

  void arrive(const TimedCopy& copy, uint64_t now_ns) {
    if (copy.input != kNoOpInput && copy.input >= branches_) return count("no_branch");
    if (copy.id == 0) return count("no_identity");
    std::erase_if(packets_, [&](const Packet& it) {
      return it.id == copy.id && it.done_ns && *it.done_ns + timeout_ns_ <= now_ns;
    });
    if (std::ranges::find(packets_, copy.id, &Packet::id) == packets_.end()) {
      if (open() == capacity_) give_up(oldest(), "table_full", now_ns);
      packets_.push_back({.id = copy.id, .first_ns = now_ns, .ingress_ns = UINT64_MAX});
    }
    const auto packet = std::ranges::find(packets_, copy.id, &Packet::id);
    if (copy.input == kNoOpInput) {
      if (packet->done_ns) return count("late_copy");
      if (packet->no_ops++ == 0) announce(*packet, "branch_dropped");
    } else {
      if (!packet->copies.emplace(copy.input, copy.metadata).second) return count("duplicate_copy");
      if (packet->done_ns) return count("late_copy");
      packet->ingress_ns = std::min(packet->ingress_ns, copy.ingress_ns);
    }
    if (packet->copies.size() + packet->no_ops < branches_) return;
    if (packet->no_ops == 0) {
      uint16_t metadata = 0;
      for (const auto& [input, word] : packet->copies) metadata |= word;
      merged.push_back({packet->id, 0, metadata, packet->ingress_ns});
    }
    finish(packet, now_ns);
  }

  size_t waiting() const {
    return static_cast<size_t>(
        std::ranges::count_if(packets_, [](const Packet& it) { return !it.done_ns && it.no_ops == 0; }));
  }

  std::vector<TimedCopy> merged;
  std::vector<uint64_t> given_up;
  std::map<std::string, uint64_t> drops;

 private:
  struct Packet {
    uint64_t id;
    uint64_t first_ns;
    uint64_t ingress_ns;
    std::map<uint8_t, uint16_t> copies{};
    size_t no_ops = 0;
    std::optional<uint64_t> done_ns{};
    uint64_t done_order = 0;
  };
  using Packets = std::vector<Packet>;

  void count(const char* reason) { ++drops[reason]; }

  void announce(const Packet& packet, const char* reason) {
    count(reason);
    given_up.push_back(packet.id);
  }

  size_t open() const { return packets_.size() - done(); }
  size_t done() const {
    return static_cast<size_t>(
        std::ranges::count_if(packets_, [](const Packet& it) { return it.done_ns.has_value(); }));
  }
  Packets::iterator oldest() {
    return std::ranges::find_if(packets_, [](const Packet& it) { return !it.done_ns; });
  }

  void give_up(Packets::iterator packet, const char* reason, uint64_t now_ns) {
    if (packet->no_ops == 0) announce(*packet, reason);
    finish(packet, now_ns);
  }

  // As many packets that are done are remembered as may wait.
  void finish(Packets::iterator packet, uint64_t now_ns) {
    packet->done_ns = now_ns;
    packet->done_order = ++finished_;
    if (done() <= capacity_) return;
    packets_.erase(std::ranges::min_element(packets_, {},
                                            [](const Packet& it) { return it.done_ns ? it.done_order : UINT64_MAX; }));
  }

  size_t branches_, capacity_;
  uint64_t timeout_ns_;
  uint64_t finished_ = 0;
  Packets packets_;
};

struct TimedCase {
  std::vector<bool> writes;
  uint32_t capacity;
  uint64_t timeout_us;
  uint64_t spread_ns;  // from a packet's first copy to its last
  uint64_t gap_ns;     // between packets
};

TimedCase timed_case(testing::Rng& rng) {
  TimedCase out{{}, 64, 100 + rng() % 1000, 0, 1 + rng() % 20'000};
  const size_t branches = 2 + (rng() % 3 == 0 ? rng() % 14 : rng() % 2);
  for (size_t i = 0; i < branches; ++i) out.writes.push_back(rng() % 2 == 0);
  // Several that write need one that does not.
  if (std::ranges::count(out.writes, true) > 1) out.writes[rng() % branches] = false;
  out.spread_ns = 1 + rng() % (out.timeout_us * 2500);
  return out;
}

// Copies by the time at which they come.
std::vector<std::pair<uint64_t, TimedCopy>> timed_copies(testing::Rng& rng, const TimedCase& the, uint64_t start_ns) {
  std::vector<std::pair<uint64_t, TimedCopy>> out;
  const size_t branches = the.writes.size();
  const uint64_t packets = 20 + rng() % 100;
  for (uint64_t id = 1; id <= packets; ++id) {
    const uint64_t ingress_ns = start_ns + id * the.gap_ns;
    for (size_t branch = 0; branch < branches; ++branch) {
      const uint64_t fate = rng() % 24;
      if (fate == 0) continue;
      const auto input = fate == 1 ? kNoOpInput : static_cast<uint8_t>(branch);
      for (int times = fate == 2 ? 2 : 1; times > 0; --times)
        out.push_back({ingress_ns + rng() % the.spread_ns * (fate == 3 ? 4 : 1),
                       {id, input, static_cast<uint16_t>(rng() & rng()), ingress_ns - rng() % 1000}});
    }
    if (rng() % 50 == 0) out.push_back({ingress_ns, {0, 0, 0, ingress_ns}});
    if (rng() % 50 == 0) out.push_back({ingress_ns, {id, static_cast<uint8_t>(branches), 0, ingress_ns}});
  }
  std::ranges::stable_sort(out, {}, [](const auto& it) { return it.first; });
  return out;
}

void check_frames(const TimedCase& the, const Collector& out) {
  for (size_t i = 0; i < out.seen.size(); ++i) {
    testing::Frame expected(kTimedFrameBytes);
    for (size_t at = 0; at < expected.size(); ++at) expected[at] = part_byte(out.seen[i].id, at);
    for (size_t branch = 0; branch < the.writes.size(); ++branch)
      if (the.writes[branch]) expected[14 + branch * kTimedPartBytes] ^= 0x5a;
    ASSERT_EQ(out.frames[i], expected);
  }
}

void merge_as_the_model(uint64_t seed) {
  testing::Rng rng(seed);
  const TimedCase the = timed_case(rng);
  MergeInTime real(the.writes, the.capacity, the.timeout_us);
  TimedModel model(the.writes.size(), the.capacity, the.timeout_us * 1000);
  const uint64_t start_ns = 1'000'000'000;
  const auto copies = timed_copies(rng, the, start_ns);
  uint64_t now_ns = start_ns;
  for (size_t next = 0; next < copies.size();) {
    std::vector<TimedCopy> batch;
    now_ns = std::max(now_ns, copies[next].first);
    for (size_t most = 1 + rng() % 8; next < copies.size() && most > 0; --most) batch.push_back(copies[next++].second);
    // A worker that has much to do comes to its timers late.
    if (rng() % 4 != 0) {
      real.tick(now_ns);
      model.tick(now_ns);
    }
    real.deliver(batch, now_ns);
    std::ranges::stable_sort(batch, {}, &TimedCopy::input);
    for (const TimedCopy& copy : batch) model.arrive(copy, now_ns);
    ASSERT_EQ(real.merge().queue_depth(), model.waiting());
  }
  for (const uint64_t later_ns : {now_ns + the.timeout_us * 1000 - 1, now_ns + the.timeout_us * 1000}) {
    real.tick(later_ns);
    model.tick(later_ns);
  }
  EXPECT_EQ(real.out().seen, model.merged);
  std::vector<uint64_t> announced;
  for (const TimedCopy& no_op : real.no_ops().seen) announced.push_back(no_op.id);
  EXPECT_EQ(announced, model.given_up);
  EXPECT_EQ(real.drops(), model.drops);
  EXPECT_EQ(real.merge().queue_depth(), 0u) << "all are given up in the end";
  EXPECT_EQ(real.merge().due_ns(), 0u);
  check_frames(the, real.out());
}

TEST(MergeTiming, ThousandsOfCoursesGoAsTheModelSays) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    merge_as_the_model(seed);
    ASSERT_EQ(rte_mempool_in_use_count(testing::eal().pool()), 0u) << "seed " << seed;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace orrery
