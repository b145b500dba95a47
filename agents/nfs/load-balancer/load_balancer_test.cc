// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nfs/ip_prefix.h"
#include "nfs/load-balancer/health.h"
#include "nfs/load-balancer/maglev.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "support/checksum.h"

namespace orrery::load_balancer {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint32_t kVirtual = 0xcb007101;   // 203.0.113.1
constexpr uint32_t kBackends = 0x0a010000;  // 10.1.0.0 and up
constexpr uint32_t kExternal = 0xc6120001;  // 198.18.0.1
constexpr uint64_t kSecond = 1'000'000'000;

std::string text(uint32_t address, uint8_t version) {
  return version == 6 ? address_text(ipv6_of(address)) : address_text(address);
}

json backend(uint32_t n, uint8_t version = 4, const json& more = json::object()) {
  json out = {{"address", text(kBackends + n, version)}};
  out.update(more);
  return out;
}

json config(uint32_t backends = 4, uint8_t version = 4, const json& changes = json::object()) {
  json c = {{"virtual_address", text(kVirtual, version)},
            {"external_addresses", {text(kExternal, version), text(kExternal + 1, version)}},
            {"backends", json::array()}};
  for (uint32_t n = 0; n < backends; ++n) c["backends"].push_back(backend(n, version));
  c.update(changes);
  return c;
}

// A packet of a client to the virtual address.
FrameSpec request(uint16_t port, uint8_t version = 4, uint32_t client = 0x0a000001) {
  FrameSpec spec;
  spec.ip_version = version;
  spec.src = client;
  spec.dst = kVirtual;
  spec.src_port = port;
  return spec;
}

FrameSpec random_request(Rng& rng) {
  FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
  spec.dst = kVirtual;
  return spec;
}

bool is_query(const FrameSpec& spec) {
  return spec.proto == kIcmp || spec.proto == kIcmpv6;
}

// The ends of a frame, in the terms of a specification.
struct Ends {
  uint32_t src, dst;
  uint16_t src_port, dst_port;
};
Ends ends_of(const Frame& frame) {
  const ParsedPacket p = parse_packet(frame);
  const bool query = p.ip_proto == kIcmp || p.ip_proto == kIcmpv6;
  const uint16_t id = query ? load_be16(&frame[p.l4_offset + 4u]) : uint16_t{0};
  const bool v6 = p.ip_version == 6;
  return {v6 ? static_cast<uint32_t>(p.ipv6_src.low) : p.ip_src, v6 ? static_cast<uint32_t>(p.ipv6_dst.low) : p.ip_dst,
          query ? id : p.src_port, query ? id : p.dst_port};
}

FrameSpec with_ends(FrameSpec spec, const Ends& ends) {
  spec.src = ends.src;
  spec.dst = ends.dst;
  spec.src_port = ends.src_port;
  spec.dst_port = ends.dst_port;
  return spec;
}

FrameSpec answer_to(FrameSpec spec) {
  if (!is_query(spec)) return reply_of(spec);
  std::swap(spec.src, spec.dst);
  spec.icmp_type = spec.proto == kIcmp ? 0 : 129;
  return spec;
}

uint32_t backend_of(const Outcome& outcome) {
  return ends_of(outcome.frame).dst - kBackends;
}

TEST(LoadBalancer, RepliesAreRestoredToWhatTheClientAskedFor) {
  Rng rng(1);
  const std::map<uint8_t, std::unique_ptr<NfCore>> nfs = [] {
    std::map<uint8_t, std::unique_ptr<NfCore>> out;
    for (const uint8_t version : {4, 6}) {
      json c = config(5, version);
      c["backends"][2]["port"] = 8080;
      out[version] = make_nf("load-balancer", c);
    }
    return out;
  }();
  std::set<uint32_t> used;
  for (int i = 0; i < 6000; ++i) {
    const FrameSpec spec = random_request(rng);
    NfCore& nf = *nfs.at(spec.ip_version);
    const Outcome out = run_one(nf, build_frame(spec));
    ASSERT_EQ(out.reason, "");
    ASSERT_EQ(out.verdict.out, Direction::kForward);

    // The same packet, built anew with the ends it has now: no other byte differs.
    const Ends ends = ends_of(out.frame);
    const FrameSpec sent = with_ends(spec, ends);
    ASSERT_EQ(out.frame, build_frame(sent));
    ASSERT_TRUE(checksums_hold(out.frame));
    ASSERT_TRUE(ends.src == kExternal || ends.src == kExternal + 1);
    const uint32_t chosen = ends.dst - kBackends;
    ASSERT_LT(chosen, 5u);
    if (!is_query(spec)) {
      ASSERT_EQ(ends.dst_port, chosen == 2 ? 8080 : spec.dst_port);
    }
    used.insert(chosen);

    const Outcome back = run_one(nf, build_frame(answer_to(sent)), Direction::kReturn);
    ASSERT_EQ(back.reason, "");
    ASSERT_EQ(back.verdict.out, Direction::kReturn);
    ASSERT_EQ(back.frame, build_frame(answer_to(spec)));
  }
  EXPECT_EQ(used.size(), 5u);
}

TEST(LoadBalancer, IcmpErrorsAreRestoredWithWhatTheyQuote) {
  Rng rng(2);
  std::map<uint8_t, std::unique_ptr<NfCore>> nfs;
  for (const uint8_t version : {4, 6})
    nfs[version] = make_nf("load-balancer", config(3, version, {{"max_failures", 0}}));
  for (int i = 0; i < 4000; ++i) {
    FrameSpec spec = random_request(rng);
    spec.vlan = spec.service_vlan = false;
    spec.padding = 0;
    std::erase_if(spec.extensions, [](const ExtensionHeader& it) { return it.type == kAuthentication; });
    const auto& nf = nfs.at(spec.ip_version);
    const Outcome out = run_one(*nf, build_frame(spec));
    ASSERT_EQ(out.reason, "");
    const Ends ends = ends_of(out.frame);
    size_t quoted = 8 + rng() % 60;
    if (quoted == 17) ++quoted;  // half a TCP checksum cannot be translated
    const uint8_t type = spec.ip_version == 6 ? 1 : rng() % 2 == 0 ? 3 : 11;

    const uint32_t router = rng() % 2 == 0 ? 0x01010101 : ends.dst;
    const uint32_t seen_router = router == ends.dst ? kVirtual : router;
    const Outcome back = run_one(*nf, build_icmp_error(router, type, out.frame, quoted), Direction::kReturn);
    ASSERT_EQ(back.reason, "");
    ASSERT_EQ(back.frame, build_icmp_error(seen_router, type, build_frame(spec), quoted));

    // The client refuses a reply: the back end must see its own reply refused by the external address.
    if (is_query(spec)) continue;
    const Frame reply = build_frame(reply_of(with_ends(spec, ends)));
    const Outcome error = run_one(*nf, build_icmp_error(spec.src, type, build_frame(reply_of(spec)), quoted));
    ASSERT_EQ(error.reason, "");
    ASSERT_EQ(error.frame, build_icmp_error(ends.src, type, reply, quoted));
  }
}

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
    if (health.failed() && c.era != health.era()) {
      if (const auto chosen = choose(client, port, now)) {
        c.failed = false;
        c.backend = *chosen;
        c.era = backends_[*chosen].health.era();
      } else if (c.state == kSent || c.state == kOther) {
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
    for (const uint32_t n : candidates)
      if (backends_[n].takes_new && backends_[n].health.admits(settings_, now)) return n;
    return std::nullopt;
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
  size_t dropped = 0, failures = 0, recoveries = 0;
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
      ASSERT_EQ(out.reason, expected ? "" : "no_backend") << "seed " << seed << ", step " << step;
      dropped += !expected;
      if (!expected) continue;
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
  }
  EXPECT_GT(dropped, 100u);
  EXPECT_GT(failures, 50u);
  EXPECT_GT(recoveries, 30u);
}

// Back ends that new connections get, by source port.
std::vector<uint32_t> choices(NfCore& nf, uint16_t first = 1024, uint16_t count = 3000) {
  std::vector<uint32_t> out;
  for (uint16_t n = 0; n < count; ++n) {
    const Outcome o = run_one(nf, tcp_frame(request(static_cast<uint16_t>(first + n)), kTcpSyn));
    EXPECT_EQ(o.reason, "");
    out.push_back(backend_of(o));
  }
  return out;
}

TEST(LoadBalancer, AllInstancesChooseAlikeInAnyOrderOfBackEnds) {
  json c = config(6);
  const auto one = make_nf("load-balancer", c);
  std::ranges::reverse(c["backends"]);
  c["external_addresses"] = {"198.18.7.7"};
  const auto two = make_nf("load-balancer", c);
  EXPECT_EQ(choices(*one), choices(*two));
}

TEST(LoadBalancer, WeightsShareNewConnections) {
  json c = config(3);
  c["backends"][1]["weight"] = 2;
  c["backends"][2]["weight"] = 5;
  const auto nf = make_nf("load-balancer", c);
  std::map<uint32_t, int> shares;
  for (const uint32_t n : choices(*nf, 1024, 20000)) ++shares[n];
  EXPECT_NEAR(shares[0], 2500, 250);
  EXPECT_NEAR(shares[1], 5000, 350);
  EXPECT_NEAR(shares[2], 12500, 500);
}

TEST(LoadBalancer, ABackEndThatDrainsMovesNewConnectionsOfItsOwnOnly) {
  json c = config(5);
  const auto before = choices(*make_nf("load-balancer", c));
  for (const char* state : {"drain", "down"}) {
    c["backends"][3]["state"] = state;
    const auto after = choices(*make_nf("load-balancer", c));
    std::set<uint32_t> heirs;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i] == 3) {
        heirs.insert(after[i]);
      } else {
        ASSERT_EQ(after[i], before[i]);
      }
    }
    EXPECT_EQ(heirs, (std::set<uint32_t>{0, 1, 2, 4})) << "its share goes to all";
  }
}

TEST(LoadBalancer, OpenConnectionsStayWhenBackEndsComeAndGo) {
  json c = config(5);
  const auto nf = make_nf("load-balancer", c);
  const auto before = choices(*nf, 1024, 1000);
  c["backends"].push_back(backend(5));
  c["backends"][3]["state"] = "drain";
  c["backends"].erase(1);
  nf->configure(c);
  const auto after = choices(*nf, 1024, 1000);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 1) continue;
    ASSERT_EQ(after[i], before[i]);
  }
  const json state = nf->state(10);
  EXPECT_EQ(state["flows_lost_by_reconfiguration"], std::ranges::count(before, 1u));
  uint64_t open = 0;
  for (const json& b : state["backends"]) open += b["open"].get<uint64_t>();
  EXPECT_EQ(open, 1000u);
  EXPECT_EQ(state["backends"][2]["address"], "10.1.0.3");
  EXPECT_GE(state["backends"][2]["open"], std::ranges::count(before, 3u));

  c["backends"][2]["state"] = "down";
  nf->configure(c);
  const auto last = choices(*nf, 1024, 1000);
  for (size_t i = 0; i < last.size(); ++i) {
    ASSERT_NE(last[i], 3u);
    if (after[i] == 3) continue;
    ASSERT_EQ(last[i], after[i]);
  }
}

TEST(LoadBalancer, AnOpenConnectionLeavesABackEndThatFails) {
  const auto nf = make_nf("load-balancer", config(2));
  uint64_t now = monotonic_ns();
  const auto send = [&](uint16_t port, uint8_t flags) {
    return run_one(*nf, tcp_frame(request(port), flags), Direction::kForward, now);
  };
  const auto answer = [&](uint16_t port, const Outcome& out, uint8_t flags) {
    const FrameSpec reply = reply_of(with_ends(request(port), ends_of(out.frame)));
    return run_one(*nf, tcp_frame(reply, flags), Direction::kReturn, now);
  };
  std::vector<uint16_t> of_0;
  for (uint16_t port = 1024; of_0.size() < 6; ++port) {
    const Outcome out = send(port, kTcpSyn);
    if (backend_of(out) != 0) continue;
    of_0.push_back(port);
    if (of_0.size() > 1) continue;
    answer(port, out, kTcpSyn | kTcpAck);
    EXPECT_EQ(backend_of(send(port, kTcpAck)), 0u);
  }
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(backend_of(send(of_0[0], kTcpAck)), 0u) << i - 1 << " failures";
    now += kSecond;
    send(of_0[i], kTcpSyn);
  }
  EXPECT_EQ(nf->state(2)["backends"][0]["state"], "failed");
  EXPECT_EQ(backend_of(send(of_0[4], kTcpSyn)), 1u) << "a retransmission goes to one that is well";
  EXPECT_EQ(backend_of(send(of_0[0], kTcpAck)), 1u);
  EXPECT_EQ(nf->state(2)["flows_moved"], 3) << "and so did the SYN that was the last failure";
}

TEST(LoadBalancer, AConnectionThatBeginsAnewLeavesABackEndThatDrains) {
  json c = config(2);
  const auto nf = make_nf("load-balancer", c);
  const auto send = [&](uint8_t flags) { return backend_of(run_one(*nf, tcp_frame(request(1), flags))); };
  const uint32_t first = send(kTcpSyn);
  EXPECT_EQ(send(kTcpAck), first);
  c["backends"][first]["state"] = "drain";
  nf->configure(c);
  EXPECT_EQ(send(kTcpAck), first);
  EXPECT_EQ(send(kTcpFin | kTcpAck), first);
  EXPECT_EQ(send(kTcpAck), first);
  EXPECT_EQ(send(kTcpSyn), 1 - first);
  EXPECT_EQ(send(kTcpAck), 1 - first);
}

TEST(LoadBalancer, WithoutABackEndNewConnectionsAreDropped) {
  json c = config(2);
  c["backends"][0]["state"] = "down";
  c["backends"][1]["state"] = "drain";
  const auto nf = make_nf("load-balancer", c);
  EXPECT_EQ(run_one(*nf, build_frame(request(1))).reason, "no_backend");
  EXPECT_EQ(nf->state(1)["flow_count"], 0);
  c["backends"][1]["state"] = "up";
  nf->configure(c);
  EXPECT_EQ(backend_of(run_one(*nf, build_frame(request(1)))), 1u);
}

TEST(LoadBalancer, AConnectionThatIsNeverAnsweredIsAFailureOnceItExpires) {
  const auto nf = make_nf("load-balancer", config(1, 4, {{"max_failures", 2}, {"transitory_timeout_s", 5}}));
  const uint64_t now = monotonic_ns();
  for (uint16_t port = 1; port <= 2; ++port) run_one(*nf, tcp_frame(request(port), kTcpSyn), Direction::kForward, now);
  run_one(*nf, arp_frame(), Direction::kForward, now + 4 * kSecond);
  EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up");
  run_one(*nf, arp_frame(), Direction::kForward, now + 6 * kSecond);
  EXPECT_EQ(nf->state(1)["backends"][0]["state"], "failed");
  EXPECT_EQ(nf->state(1)["backends"][0]["failures"], 2);
  EXPECT_EQ(nf->state(1)["backends"][0]["open"], 0);
  EXPECT_EQ(nf->state(1)["flow_count"], 0);
}

// What nobody could answer, such as SYNs with a wrong checksum, tells nothing of a back end that answers others.
TEST(LoadBalancer, SilenceIsNoFailureOfABackEndThatAnswersOthersMeanwhile) {
  for (const bool again : {false, true}) {
    const auto nf = make_nf("load-balancer", config(1, 4, {{"max_failures", 2}, {"transitory_timeout_s", 20}}));
    uint64_t now = monotonic_ns();
    const auto send = [&](uint16_t port) {
      return run_one(*nf, tcp_frame(request(port), kTcpSyn), Direction::kForward, now);
    };
    for (uint16_t port = 1; port <= 5; ++port) send(port);
    now += kSecond;
    const FrameSpec reply = reply_of(with_ends(request(9), ends_of(send(9).frame)));
    EXPECT_EQ(run_one(*nf, tcp_frame(reply, kTcpSyn | kTcpAck), Direction::kReturn, now).reason, "");
    now += again ? kSecond : 30 * kSecond;
    for (uint16_t port = 1; again && port <= 5; ++port) send(port);
    run_one(*nf, arp_frame(), Direction::kForward, now);
    run_one(*nf, arp_frame(), Direction::kForward, now);
    EXPECT_EQ(nf->state(1)["backends"][0]["failures"], 0) << again;
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up") << again;
  }
}

// A client tries again several times within the window of failures.
TEST(LoadBalancer, AConnectionIsOneFailureHoweverOftenItsClientTriesAgain) {
  for (const uint8_t proto : {kTcp, kUdp}) {
    const auto nf = make_nf("load-balancer", config(1, 4, {{"max_failures", 2}, {"transitory_timeout_s", 20}}));
    uint64_t now = monotonic_ns();
    FrameSpec spec = request(1);
    spec.proto = proto;
    const Frame frame = proto == kTcp ? tcp_frame(spec, kTcpSyn) : build_frame(spec);
    for (int tries = 0; tries < 4; ++tries, now += (1u << tries) * kSecond) {
      const Outcome sent = run_one(*nf, frame, Direction::kForward, now);
      EXPECT_EQ(sent.reason, "");
      if (proto == kUdp) run_one(*nf, build_icmp_error(0x01010101, 3, sent.frame, 8), Direction::kReturn, now);
    }
    run_one(*nf, arp_frame(), Direction::kForward, now + 60 * kSecond);
    EXPECT_EQ(nf->state(1)["flow_count"], 0);
    EXPECT_EQ(nf->state(1)["backends"][0]["failures"], 1) << int{proto};
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up") << int{proto};
  }
}

TEST(LoadBalancer, UnreachableBackEndsFailOnlyByErrorsAboutWhatTheyDidNotAnswer) {
  for (const uint8_t version : {4, 6}) {
    const auto nf = make_nf("load-balancer", config(1, version, {{"max_failures", 1}}));
    FrameSpec spec = request(5, version);
    spec.proto = kUdp;
    const Outcome out = run_one(*nf, build_frame(spec));
    const FrameSpec sent = with_ends(spec, ends_of(out.frame));
    const auto error = [&](uint8_t type) {
      return run_one(*nf, build_icmp_error(9, type, out.frame, 8), Direction::kReturn).reason;
    };
    EXPECT_EQ(error(version == 6 ? 2 : 11), "") << "too big, time exceeded: the back end may well be there";
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up");
    run_one(*nf, build_frame(reply_of(sent)), Direction::kReturn);
    EXPECT_EQ(error(version == 6 ? 1 : 3), "");
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "up") << "it has answered";
    const Outcome next = run_one(*nf, build_frame([&] {
      FrameSpec other = spec;
      other.src_port = 6;
      return other;
    }()));
    EXPECT_EQ(run_one(*nf, build_icmp_error(9, version == 6 ? 1 : 3, next.frame, 8), Direction::kReturn).reason, "");
    EXPECT_EQ(nf->state(1)["backends"][0]["state"], "failed");
  }
}

TEST(LoadBalancer, RepliesOfOthersAreNotOfTheConnection) {
  const auto nf = make_nf("load-balancer", config(2));
  const FrameSpec spec = request(7);
  const FrameSpec sent = with_ends(spec, ends_of(run_one(*nf, build_frame(spec)).frame));
  const auto reply = [&](auto&& change) {
    FrameSpec r = reply_of(sent);
    change(r);
    return run_one(*nf, build_frame(r), Direction::kReturn).reason;
  };
  EXPECT_EQ(reply([](FrameSpec&) {}), "");
  EXPECT_EQ(reply([](FrameSpec& r) { r.src ^= 1; }), "no_flow") << "the other back end";
  EXPECT_EQ(reply([](FrameSpec& r) { ++r.src_port; }), "no_flow");
  EXPECT_EQ(reply([](FrameSpec& r) { ++r.dst_port; }), "no_flow");
  EXPECT_EQ(reply([](FrameSpec& r) { r.proto = kUdp; }), "no_flow");
  EXPECT_EQ(reply([](FrameSpec& r) { r.dst = 0x01020304; }), "") << "not to an external address";
}

TEST(LoadBalancer, GivesTheReasonForEachDrop) {
  for (const uint8_t version : {4, 6}) {
    const auto nf = make_nf("load-balancer", config(2, version, {{"ports", {80, "8000-8010"}}}));
    const auto reason = [&](auto&& change, Direction in = Direction::kForward) {
      FrameSpec spec = request(9, version);
      change(spec);
      return run_one(*nf, build_frame(spec), in).reason;
    };
    const auto icmp = [&](uint8_t v4, uint8_t v6) {
      return [=](FrameSpec& s) {
        s.proto = version == 6 ? kIcmpv6 : kIcmp;
        s.icmp_type = version == 6 ? v6 : v4;
      };
    };
    EXPECT_EQ(reason([](FrameSpec&) {}), "");
    EXPECT_EQ(reason([](FrameSpec& s) { s.dst_port = 8010; }), "");
    EXPECT_EQ(reason([](FrameSpec& s) { s.dst_port = 8011; }), "not_served");
    EXPECT_EQ(reason([](FrameSpec& s) { s.proto = kUdp, s.dst_port = 53; }), "not_served");
    EXPECT_EQ(reason(icmp(8, 128)), "") << "a ping goes to a back end";
    EXPECT_EQ(reason(icmp(0, 129)), "unsupported");
    EXPECT_EQ(reason([](FrameSpec& s) { s.proto = kGre; }), "unsupported");
    EXPECT_EQ(reason([](FrameSpec& s) { s.more_fragments = true, s.payload.resize(20); }), "fragment");
    EXPECT_EQ(reason([](FrameSpec& s) { s.fragment_offset = 2; }), "fragment");
    EXPECT_EQ(reason([](FrameSpec& s) { s.dst = 1, s.fragment_offset = 2; }), "") << "not to the virtual address";
    EXPECT_EQ(reason([](FrameSpec& s) { s.dst = kExternal; }, Direction::kReturn), "no_flow");
    EXPECT_EQ(run_one(*nf, Frame(5)).reason, "malformed");
  }
}

TEST(LoadBalancer, ConnectionsThatAreNotEstablishedMakeRoom) {
  const auto nf = make_nf("load-balancer", config(2, 4, {{"max_flows", 8}}));
  const auto establish = [&](uint16_t port) {
    const Outcome out = run_one(*nf, tcp_frame(request(port), kTcpSyn));
    const FrameSpec reply = reply_of(with_ends(request(port), ends_of(out.frame)));
    run_one(*nf, tcp_frame(reply, kTcpSyn | kTcpAck), Direction::kReturn);
    run_one(*nf, tcp_frame(request(port), kTcpAck));
    return ends_of(out.frame);
  };
  const Ends first = establish(1);
  for (uint16_t port = 1000; port < 3000; ++port) ASSERT_EQ(run_one(*nf, tcp_frame(request(port), kTcpSyn)).reason, "");
  const Outcome again = run_one(*nf, tcp_frame(request(1), kTcpAck));
  EXPECT_EQ(ends_of(again.frame).src_port, first.src_port);
  for (uint16_t port = 2; port <= 8; ++port) establish(port);
  EXPECT_EQ(run_one(*nf, tcp_frame(request(9), kTcpSyn)).reason, "table_full");
  EXPECT_EQ(nf->state(1)["flow_count"], 8);
  EXPECT_EQ(nf->state(1)["flows_evicted"], 2000 - 7 + 7);
}

TEST(LoadBalancer, PortsThatRunOutAreReusedAfterTheTimeout) {
  const auto nf = make_nf("load-balancer", config(2, 4,
                                                  {{"external_addresses", {"198.18.0.1"}},
                                                   {"port_lo", 5000},
                                                   {"port_hi", 5003},
                                                   {"transitory_timeout_s", 10}}));
  const uint64_t now = monotonic_ns();
  const auto send = [&](uint16_t port, uint64_t at) {
    return run_one(*nf, tcp_frame(request(port), kTcpSyn), Direction::kForward, at).reason;
  };
  for (uint16_t port = 1; port <= 4; ++port) EXPECT_EQ(send(port, now), "");
  EXPECT_EQ(send(5, now), "no_port");
  EXPECT_EQ(send(5, now + 11 * kSecond), "");
}

TEST(LoadBalancer, InDirectModeTheChoiceIsAnAttribute) {
  const MetadataField field{"backend", 4, 4, {}};
  MetadataField full = field;
  for (uint16_t n = 1; n <= 15; ++n) full.values.emplace_back("backend-" + std::to_string(n), n);
  for (const uint8_t version : {4, 6}) {
    json c = config(15, version, {{"mode", "direct"}});
    const auto direct = make_nf("load-balancer", c, {&full, 1});
    c["mode"] = "nat";
    const auto nat = make_nf("load-balancer", c, {&full, 1});
    std::set<uint16_t> seen;
    for (uint16_t port = 1; port < 500; ++port) {
      const Frame frame = build_frame(request(port, version));
      const Outcome out = run(*direct, {frame}, Direction::kForward, monotonic_ns(), 0xffff)[0];
      EXPECT_EQ(out.frame, frame);
      EXPECT_EQ(out.metadata & 0xff0f, 0xff0f);
      seen.insert(out.metadata);
      const Outcome other = run(*nat, {frame}, Direction::kForward, monotonic_ns(), 0xffff)[0];
      EXPECT_EQ(other.metadata, out.metadata);
      EXPECT_EQ(out.metadata >> 4 & 15, backend_of(other) + 1);
    }
    EXPECT_EQ(seen.size(), 15u);
    FrameSpec elsewhere = request(1, version);
    elsewhere.dst = 5;
    EXPECT_EQ(run(*direct, {build_frame(elsewhere)}, Direction::kForward, monotonic_ns(), 0xffff)[0].metadata, 0xff0f);
    EXPECT_EQ(run_one(*direct, build_frame(request(1)), Direction::kReturn).frame, build_frame(request(1)));
  }
}

TEST(LoadBalancer, InDirectModeSilenceIsNoFailure) {
  const auto nf = make_nf("load-balancer", config(2, 4, {{"mode", "direct"}, {"max_failures", 1}}));
  uint64_t now = monotonic_ns();
  for (int i = 0; i < 50; ++i, now += kSecond) run_one(*nf, tcp_frame(request(1), kTcpSyn), Direction::kForward, now);
  run_one(*nf, arp_frame(), Direction::kForward, now + 1000 * kSecond);
  const json state = nf->state(2);
  EXPECT_EQ(state["backends"].size(), 2u);
  for (const json& b : state["backends"]) EXPECT_EQ(b["state"], "up");
}

TEST(LoadBalancer, AConnectionMovesToAnotherInstance) {
  for (const uint8_t version : {4, 6}) {
    const auto one = make_nf("load-balancer", config(4, version));
    json c = config(4, version);
    std::ranges::reverse(c["backends"]);
    c["backends"][0]["state"] = "drain";
    const auto two = make_nf("load-balancer", c);
    std::vector<Frame> frames, outs;
    for (uint16_t port = 1; port < 200; ++port) {
      FrameSpec spec = request(port, version);
      if (port % 3 == 0) spec.proto = kUdp;
      frames.push_back(build_frame(spec));
      outs.push_back(run_one(*one, frames.back()).frame);
    }
    two->import_state(json::parse(one->export_state(version == 4 ? RowForm::kBinary : RowForm::kArrays).dump()));
    EXPECT_EQ(two->state(1)["imports_refused"], 0);
    for (size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(run_one(*two, frames[i]).frame, outs[i]);
    EXPECT_EQ(two->state(1)["flows_created"], 0);

    c["backends"].erase(0);
    const auto fewer = make_nf("load-balancer", c);
    fewer->import_state(one->export_state());
    const json state = fewer->state(1);
    EXPECT_GT(state["imports_refused"], 0);
    EXPECT_EQ(state["flow_count"].get<size_t>() + state["imports_refused"].get<size_t>(), frames.size());
    c["external_addresses"] = {text(kExternal + 9, version)};
    const auto elsewhere = make_nf("load-balancer", c);
    elsewhere->import_state(one->export_state());
    EXPECT_EQ(elsewhere->state(1)["flow_count"], 0);
  }
}

void expect_sound(const std::vector<Frame>& frames, const std::vector<Outcome>& outcomes) {
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_NE(outcomes[i].reason, "?");
    if (!outcomes[i].verdict.drop) continue;
    ASSERT_EQ(outcomes[i].frame, frames[i]) << "what is dropped is not written to";
  }
}

// The packets that can harm, sent to the virtual address, and what comes back to those that were let through.
TEST(LoadBalancer, SurvivesMalformedPacketsToItsAddresses) {
  Rng rng(9);
  for (const uint8_t version : {4, 6}) {
    const auto nf = make_nf("load-balancer", config(3, version));
    const size_t bytes = version == 6 ? 16 : 4, src = version == 6 ? 8 : 12;
    const Ipv6Address service = ipv6_of(kVirtual);
    std::vector<Frame> requests = version == 4 ? malformed_corpus(rng) : malformed_ipv6_corpus(rng);
    for (Frame& frame : requests) {
      const size_t dst = parse_packet(frame).l3_offset + src + bytes;
      if (dst < 20 || frame.size() < dst + bytes) continue;
      if (version == 6) store_be64(&frame[dst], service.high);
      if (version == 6) store_be64(&frame[dst + 8], service.low);
      if (version == 4) store_be32(&frame[dst], kVirtual);
    }
    const auto outcomes = run(*nf, requests);
    expect_sound(requests, outcomes);
    std::vector<Frame> replies;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (outcomes[i].frame == requests[i]) continue;
      Frame reply = outcomes[i].frame;
      const ParsedPacket p = parse_packet(reply);
      uint8_t* ip = &reply[p.l3_offset];
      std::swap_ranges(ip + src, ip + src + bytes, ip + src + bytes);
      if (p.dst_port != 0) std::swap_ranges(&reply[p.l4_offset], &reply[p.l4_offset + 2u], &reply[p.l4_offset + 2u]);
      replies.push_back(reply);
      replies.push_back(build_icmp_error(0x08080808, version == 6 ? 1 : 3, outcomes[i].frame, 8 + rng() % 40));
      for (int n = 0; n < 6; ++n) {
        replies.push_back(replies[replies.size() - 2]);
        replies.back()[rng() % replies.back().size()] ^= static_cast<uint8_t>(1 + rng() % 255);
        if (n % 3 == 0) replies.back().resize(14 + rng() % (replies.back().size() - 14));
      }
    }
    EXPECT_GT(replies.size(), 1000u);
    const auto restored = run(*nf, replies, Direction::kReturn);
    expect_sound(replies, restored);
    size_t changed = 0;
    for (size_t i = 0; i < replies.size(); ++i) changed += restored[i].frame != replies[i];
    EXPECT_GT(changed, 500u);
  }
}

TEST(LoadBalancer, PointsToWhatIsWrong) {
  const auto error = [](const json& changes) { return config_error("load-balancer", config(2, 4, changes)); };
  EXPECT_EQ(error({{"virtual_address", "x"}}), "/virtual_address");
  EXPECT_EQ(error({{"virtual_address", "2001:db8::1"}}), "/backends/0/address");
  EXPECT_EQ(error({{"backends", json::array()}}), "/backends");
  EXPECT_EQ(error({{"backends", {backend(1), backend(2), backend(1)}}}), "/backends/2");
  EXPECT_EQ(error({{"backends", {backend(1), backend(1, 4, {{"port", 81}})}}}), "none");
  EXPECT_EQ(error({{"backends", {backend(1, 4, {{"weight", 0}})}}}), "/backends/0/weight");
  EXPECT_EQ(error({{"backends", {backend(1, 4, {{"state", "ill"}})}}}), "/backends/0/state");
  EXPECT_EQ(error({{"backends", {backend(1, 4, {{"zz", 1}})}}}), "/backends/0/zz");
  EXPECT_EQ(error({{"backends", {backend(1, 4, {{"port", 81}})}}, {"mode", "direct"}}), "/backends/0/port");
  EXPECT_EQ(error({{"ports", {80, "90-80"}}}), "/ports/1");
  EXPECT_EQ(error({{"external_addresses", {"198.18.0.1", "2001:db8::1"}}}), "/external_addresses/1");
  EXPECT_EQ(error({{"external_addresses", {"198.18.0.1", 5}}}), "/external_addresses/1");
  EXPECT_EQ(error({{"external_addresses", {"198.18.0.1", "198.18.0.1"}}}), "/external_addresses/1");
  EXPECT_EQ(error({{"external_addresses", {"203.0.113.1"}}}), "/external_addresses/0");
  EXPECT_EQ(error({{"port_lo", 2000}, {"port_hi", 1999}}), "/port_hi");
  EXPECT_EQ(config_error("load-balancer", config(64)), "none");
  EXPECT_EQ(config_error("load-balancer", config(65)), "/backends");
  EXPECT_EQ(config_error("load-balancer", config(16, 4, {{"mode", "direct"}})), "/backends");
}

}  // namespace
}  // namespace orrery::load_balancer
