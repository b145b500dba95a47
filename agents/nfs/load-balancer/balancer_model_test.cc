// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "nfs/load-balancer/balancer_ends.h"
#include "nfs/load-balancer/health.h"
#include "nfs/load-balancer/maglev.h"

namespace orrery::load_balancer {
namespace {

// What the NF is to do, with plain containers.
class Model {
 public:
  struct Backend {
    bool takes_new = true;
    Health health{};
  };

  Model(std::vector<Backend> backends, const HealthSettings& settings)
      : backends_(std::move(backends)), settings_(settings) {
    std::vector<MaglevMember> members;
    for (uint32_t n = 0; n < backends_.size(); ++n) {
      const Ipv6Address a = ipv4_mapped(kBackends + n);
      members.push_back({mix(mix(mix(a.high + 0x9e3779b97f4a7c15u) ^ a.low) + 0), 1});
    }
    table_.emplace(members);
  }

  // Where a TCP segment of a client goes; nothing: it is dropped.
  std::optional<uint32_t> request(uint32_t client, uint16_t port, bool syn, uint64_t now) {
    const auto it = open_.find({client, port});
    if (it == open_.end()) {
      const auto chosen = choose(client, port, now);
      if (chosen) open_[{client, port}] = {*chosen, backends_[*chosen].health.era(), syn ? kSent : kOther, now};
      return chosen;
    }
    Connection& c = it->second;
    if (syn && c.state == kSent && now - c.last >= kSecond / 2 && !backends_[c.backend].health.answered_since(c.last))
      fail(c, now);
    const Health& health = backends_[c.backend].health;
    if (health.failed() && c.era != health.era() && (c.state == kSent || c.state == kOther)) {
      if (const auto chosen = choose(client, port, now)) {
        c.failed = false;
        c.backend = *chosen;
        c.era = backends_[*chosen].health.era();
      } else {
        return std::nullopt;
      }
    }
    if (!syn && c.state == kAnswered) c.state = kOpen;
    c.last = now;
    return c.backend;
  }

  // The answer of a back end to a SYN.
  void answer(uint32_t client, uint16_t port, bool reset, uint64_t now) {
    Connection& c = open_.at({client, port});
    c.last = now;
    if (c.state == kSent && reset) fail(c, now);
    if (c.state == kSent && !reset && c.era == backends_[c.backend].health.era())
      backends_[c.backend].health.succeed(settings_, now);
    if (reset) open_[{client, port}].state = kClosed;
    if (!reset && c.state == kSent) c.state = kAnswered;
    if (!reset && c.state == kOther) c.state = kOpen;
  }

  bool waits(uint32_t client, uint16_t port) const {
    const auto it = open_.find({client, port});
    return it != open_.end() && it->second.state == kSent;
  }
  bool is_closed(uint32_t client, uint16_t port) const {
    const auto it = open_.find({client, port});
    return it != open_.end() && it->second.state == kClosed;
  }
  bool failed(uint32_t backend) const { return backends_[backend].health.failed(); }

  size_t chosen_from_failed = 0;  // because all look failed

 private:
  enum State { kSent, kOther, kAnswered, kOpen, kClosed };
  struct Connection {
    uint32_t backend;
    uint16_t era;
    State state;
    uint64_t last;
    bool failed = false;
  };

  void fail(Connection& c, uint64_t now) {
    Health& health = backends_[c.backend].health;
    if (c.era == health.era() && !std::exchange(c.failed, true)) health.fail(settings_, now);
  }

  std::optional<uint32_t> choose(uint32_t client, uint16_t port, uint64_t now) {
    const Ipv6Address src = ipv4_mapped(client), dst = ipv4_mapped(kVirtual);
    const uint64_t ports = uint64_t{port} << 32 | uint64_t{80} << 16 | kTcp;
    const uint64_t hash =
        mix(mix(mix(mix(src.high + 0x9e3779b97f4a7c15u) ^ src.low) ^ dst.high) ^ dst.low ^ mix(ports));
    std::vector<uint32_t> candidates = {table_->at(hash)};
    for (uint64_t n = 1; n <= 32; ++n) candidates.push_back(table_->at(mix(hash + n)));
    for (uint64_t n = 0; n < backends_.size(); ++n)
      candidates.push_back(static_cast<uint32_t>((hash + n) % backends_.size()));
    std::optional<uint32_t> first;
    for (const uint32_t n : candidates) {
      if (!backends_[n].takes_new) continue;
      if (backends_[n].health.admits(settings_, now)) return n;
      if (!first) first = n;
    }
    ++chosen_from_failed;
    return first;
  }

  std::vector<Backend> backends_;
  HealthSettings settings_;
  std::optional<MaglevTable> table_;
  std::map<std::pair<uint32_t, uint16_t>, Connection> open_;
};

// Back ends come and go; clients retransmit; some back ends refuse.
TEST(LoadBalancer, DoesWhatTheModelDoesWithRandomTrafficAndFailures) {
  const HealthSettings settings{
      .max_failures = 3, .window_ns = 30 * kSecond, .retry_ns = 10 * kSecond, .min_successes = 2};
  size_t chosen_from_failed = 0, failures = 0, recoveries = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Rng rng(seed);
    const uint32_t count = 2 + static_cast<uint32_t>(rng() % 5);
    json c = config(count, 4, {{"idle_timeout_s", 86400}, {"transitory_timeout_s", 86400}});
    std::vector<Model::Backend> backends(count);
    for (uint32_t n = 0; n < count; ++n) {
      backends[n].takes_new = n == 0 || rng() % 5 != 0;
      if (!backends[n].takes_new) c["backends"][n]["state"] = "drain";
    }
    const auto nf = make_nf("load-balancer", c);
    Model model(backends, settings);
    std::vector<int> mood(count);  // 0: answers, 1: is silent, 2: refuses
    uint64_t now = monotonic_ns();
    for (int step = 0; step < 4000; ++step) {
      now += rng() % (kSecond / 4);
      if (rng() % 100 == 0) mood[rng() % count] = static_cast<int>(rng() % 3);
      const auto client = static_cast<uint32_t>(0x0a000001 + rng() % 8);
      const auto port = static_cast<uint16_t>(1024 + rng() % (50 + static_cast<uint64_t>(step) / 4));
      if (model.is_closed(client, port)) continue;
      const bool syn = rng() % 4 != 0;
      const FrameSpec spec = request(port, 4, client);
      std::vector<bool> were(count);
      for (uint32_t n = 0; n < count; ++n) were[n] = model.failed(n);
      const auto expected = model.request(client, port, syn, now);
      const Outcome out = run_one(*nf, tcp_frame(spec, syn ? kTcpSyn : kTcpAck), Direction::kForward, now);
      ASSERT_TRUE(expected);
      ASSERT_EQ(out.reason, "") << "seed " << seed << ", step " << step;
      ASSERT_EQ(backend_of(out), *expected) << "seed " << seed << ", step " << step;
      if (mood[*expected] != 1 && model.waits(client, port)) {
        const bool reset = mood[*expected] == 2;
        const FrameSpec reply = reply_of(with_ends(spec, ends_of(out.frame)));
        const auto flags = static_cast<uint8_t>(reset ? kTcpRst | kTcpAck : kTcpSyn | kTcpAck);
        model.answer(client, port, reset, now);
        ASSERT_EQ(run_one(*nf, tcp_frame(reply, flags), Direction::kReturn, now).reason, "");
      }
      bool changed = false;
      for (uint32_t n = 0; n < count; ++n) {
        failures += model.failed(n) && !were[n];
        recoveries += !model.failed(n) && were[n];
        changed |= model.failed(n) != were[n];
      }
      if (!changed && step % 100 != 0) continue;
      const json state = nf->state(count);
      for (uint32_t n = 0; n < count; ++n)
        ASSERT_EQ(state["backends"][n]["state"], !backends[n].takes_new ? "drain" : model.failed(n) ? "failed" : "up");
    }
    chosen_from_failed += model.chosen_from_failed;
  }
  EXPECT_GT(chosen_from_failed, 100u);
  EXPECT_GT(failures, 50u);
  EXPECT_GT(recoveries, 30u);
}

}  // namespace
}  // namespace orrery::load_balancer
