// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "nfs/config_reader.h"
#include "nfs/stateful-firewall/tcp_states.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery::stateful_firewall {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint8_t kSyn = kTcpSyn, kSynAck = kTcpSyn | kTcpAck, kAck = kTcpAck, kFinAck = kTcpFin | kTcpAck;
using Flow = std::tuple<uint32_t, uint32_t, uint8_t, uint16_t, uint16_t>;

// The words of fpga/README.md, without the table that the NF has.
class Model {
 public:
  Model(const json& config)
      : config_(config),
        idle_ns_(config["idle_timeout_s"].get<uint64_t>() * kSecond),
        transitory_ns_(std::min(idle_ns_, config["transitory_timeout_s"].get<uint64_t>() * kSecond)) {}

  std::string judge(const Frame& frame, Direction in, uint64_t now_ns) {
    std::erase_if(flows_, [&](const auto& item) {
      return now_ns - item.second.seen_ns >= (item.second.state == "established" ? idle_ns_ : transitory_ns_);
    });
    const ParsedPacket p = parse_packet(frame);
    if (p.kind == PacketKind::kNonIp) return "";
    if (p.kind == PacketKind::kMalformed) return "malformed";
    if (p.ip_proto != kTcp || p.kind != PacketKind::kIpTransport) return allows(p) ? "" : "denied";
    const Flow key = in == Direction::kForward ? Flow{p.ip_src, p.ip_dst, p.ip_proto, p.src_port, p.dst_port}
                                               : Flow{p.ip_dst, p.ip_src, p.ip_proto, p.dst_port, p.src_port};
    const uint8_t flags = frame[p.l4_offset + 13u];
    const auto it = flows_.find(key);
    const uint8_t not_syn = kTcpFin | kTcpRst | (it == flows_.end() ? kTcpAck : 0);
    const bool syn = (flags & kTcpSyn) && !(flags & not_syn);
    if (it == flows_.end()) {
      if (!syn) return "no-state";
      if (!allows(p)) return "denied";
      if (flows_.size() == config_["max_flows"] && !make_room()) return "table-full";
      flows_[key] = {"opening", now_ns, ++uses_};
      return "";
    }
    if (flags & kTcpRst) {
      flows_.erase(it);
      return "";
    }
    std::string& state = it->second.state;
    if (flags & kTcpFin) {
      state = "closing";
    } else if (syn && state != "established") {
      state = "opening";
    } else if (state == "opening") {
      state = "established";
    }
    it->second.seen_ns = now_ns;
    it->second.use = ++uses_;
    return "";
  }

  std::map<Flow, std::string> states() const {
    std::map<Flow, std::string> out;
    for (const auto& [flow, entry] : flows_) out[flow] = entry.state;
    return out;
  }

 private:
  struct Entry {
    std::string state;
    uint64_t seen_ns;
    uint64_t use;  // rises with each
  };

  bool make_room() {
    auto victim = flows_.end();
    for (auto it = flows_.begin(); it != flows_.end(); ++it)
      if (it->second.state != "established" && (victim == flows_.end() || it->second.use < victim->second.use))
        victim = it;
    if (victim == flows_.end()) return false;
    flows_.erase(victim);
    return true;
  }

  bool allows(const ParsedPacket& p) const {
    const auto in_prefix = [](const json& rule, const char* field, uint32_t address) {
      if (!rule.contains(field)) return true;
      const auto prefix = *parse_prefix(rule[field].get<std::string>());
      return prefix.length == 0 || (address ^ prefix.address) >> (32 - prefix.length) == 0;
    };
    for (const json& rule : config_["rules"]) {
      if (!in_prefix(rule, "src", p.ip_src) || !in_prefix(rule, "dst", p.ip_dst)) continue;
      if (rule.contains("proto") && rule["proto"] != p.ip_proto) continue;
      if (rule.contains("lo") && (p.dst_port < rule["lo"] || p.dst_port > rule["hi"])) continue;
      return rule["action"] == "allow";
    }
    return config_["default_action"] == "allow";
  }

  json config_;
  uint64_t idle_ns_;
  uint64_t transitory_ns_;
  uint64_t uses_ = 0;
  std::map<Flow, Entry> flows_;
};

json random_config(Rng& rng) {
  json rules = json::array();
  for (uint64_t n = rng() % 17; n > 0; --n) {
    json& rule = rules.emplace_back(json{{"action", rng() % 2 == 0 ? "allow" : "deny"}});
    if (rng() % 2 == 0) rule["src"] = "10.0.0." + std::to_string(rng() % 4) + (rng() % 2 == 0 ? "/31" : "/32");
    if (rng() % 2 == 0) rule["dst"] = "192.168.0." + std::to_string(rng() % 4) + (rng() % 2 == 0 ? "" : "/30");
    if (rng() % 2 == 0) rule["proto"] = rng() % 3 == 0 ? kUdp : kTcp;
    if (rng() % 2 == 0) {
      rule["lo"] = rng() % 3 == 0 ? 0 : 78 + rng() % 4;
      rule["hi"] = rule["lo"].get<uint64_t>() + rng() % 3;
    }
  }
  return {{"default_action", rng() % 2 == 0 ? "allow" : "deny"},
          {"rules", std::move(rules)},
          {"idle_timeout_s", 5},
          {"transitory_timeout_s", 1 + rng() % 7},
          {"max_flows", 1 + rng() % (rng() % 4 == 0 ? 40 : 2)}};
}

// The model's bounds of ports as the NF takes them.
json nf_config(json config) {
  for (json& rule : config["rules"]) {
    if (!rule.contains("lo")) continue;
    rule["dst_port"] = std::to_string(rule["lo"].get<int>()) + "-" + std::to_string(rule["hi"].get<int>());
    rule.erase("lo");
    rule.erase("hi");
  }
  return config;
}

// Mostly TCP of few flows, in both directions, and all else that there is.
Frame random_frame(Rng& rng, Direction in) {
  static constexpr uint8_t kFlags[] = {
      kSyn, kSyn, kAck, kAck, kSynAck, kFinAck, kTcpRst, kTcpRst | kTcpAck, 0, kTcpPsh, kTcpUrg, kTcpSyn | kTcpFin};
  if (rng() % 40 == 0) return arp_frame();
  FrameSpec spec;
  spec.src = 0x0a000000 | static_cast<uint32_t>(rng() % 4);
  spec.dst = 0xc0a80000 | static_cast<uint32_t>(rng() % 4);
  spec.src_port = static_cast<uint16_t>(1000 + rng() % 2);
  spec.dst_port = static_cast<uint16_t>(78 + rng() % 4);
  spec.ip_option_words = static_cast<uint8_t>(rng() % 8 == 0 ? rng() % 11 : 0);
  if (in == Direction::kReturn) spec = reply_of(spec);
  if (rng() % 10 == 0) {
    spec.proto = std::array<uint8_t, 4>{kUdp, kIcmp, kGre, 255}[rng() % 4];
    return build_frame(spec);
  }
  if (rng() % 30 == 0) {
    spec.fragment_offset = 3;
    return build_frame(spec);
  }
  Frame frame = tcp_frame(spec, kFlags[rng() % std::size(kFlags)]);
  if (rng() % 30 == 0) frame.resize(rng() % frame.size());
  return frame;
}

std::map<Flow, std::string> exported(const NfCore& nf) {
  std::map<Flow, std::string> flows;
  const json state = nf.export_state();
  for (const json& r : state["flows"]) flows[{r[0], r[1], r[4], r[2], r[3]}] = kTcpStateNames[r[5].get<size_t>()];
  return flows;
}

TEST(StatefulFirewall, EqualsTheModelOnRandomTraffic) {
  Rng rng(1);
  std::map<std::string, uint64_t> reasons;
  for (int round = 0; round < 60; ++round) {
    const json config = random_config(rng);
    const auto nf = make_nf("stateful-firewall", nf_config(config));
    Model model(config);
    uint64_t now = kSecond;
    for (int i = 0; i < 500; ++i) {
      now += rng() % 20 == 0 ? rng() % 7 * kSecond : rng() % kSecond;
      const auto in = Direction(rng() % 2);
      std::vector<Frame> frames;
      for (uint64_t n = 1 + rng() % 5; n > 0; --n) frames.push_back(random_frame(rng, in));
      const auto outcomes = run(*nf, frames, in, now);
      for (size_t n = 0; n < frames.size(); ++n) {
        const std::string expected = model.judge(frames[n], in, now);
        ++reasons[expected];
        ASSERT_EQ(outcomes[n].reason, expected) << "round " << round << ", batch " << i;
        ASSERT_EQ(outcomes[n].verdict.out, in);
        ASSERT_EQ(outcomes[n].frame, frames[n]);
      }
    }
    model.judge(arp_frame(), Direction::kForward, now);
    for (int n = 0; n < 20; ++n) run(*nf, {}, Direction::kForward, now);  // each forgets some idle flows
    ASSERT_EQ(exported(*nf), model.states());
  }
  for (const char* reason : {"", "denied", "no-state", "malformed", "table-full"})
    EXPECT_GT(reasons[reason], 50u) << "the traffic must show it: " << reason;
}

TEST(StatefulFirewall, HasTheTableThatBoardsStartWith) {
  using enum TcpState;
  using enum TcpEvent;
  const auto at = [](TcpState state, TcpEvent event) { return kTcpTransitions[transition_index(state, event)]; };
  EXPECT_EQ(at(kNone, TcpEvent::kSyn), (TcpTransition{kOpening, false}));
  for (TcpEvent event : {kOther, kFin, kRst}) EXPECT_EQ(at(kNone, event), (TcpTransition{kNone, true}));
  EXPECT_EQ(at(kOpening, TcpEvent::kSyn), (TcpTransition{kOpening, false}));
  EXPECT_EQ(at(kOpening, kOther), (TcpTransition{kEstablished, false}));
  EXPECT_EQ(at(kEstablished, TcpEvent::kSyn), (TcpTransition{kEstablished, false}));
  EXPECT_EQ(at(kEstablished, kOther), (TcpTransition{kEstablished, false}));
  EXPECT_EQ(at(kClosing, TcpEvent::kSyn), (TcpTransition{kOpening, false}));
  EXPECT_EQ(at(kClosing, kOther), (TcpTransition{kClosing, false}));
  for (TcpState state : {kOpening, kEstablished, kClosing}) {
    EXPECT_EQ(at(state, kFin), (TcpTransition{kClosing, false}));
    EXPECT_EQ(at(state, kRst), (TcpTransition{kNone, false}));
  }
  for (const bool known : {false, true}) {
    EXPECT_EQ(tcp_event(kTcpRst | kTcpFin | kTcpSyn, known), kRst);
    EXPECT_EQ(tcp_event(kTcpFin | kTcpSyn, known), kFin);
    EXPECT_EQ(tcp_event(kTcpSyn | kTcpPsh, known), TcpEvent::kSyn);
    EXPECT_EQ(tcp_event(kTcpSyn | kTcpAck, known), known ? TcpEvent::kSyn : kOther);
    EXPECT_EQ(tcp_event(0, known), kOther);
  }
}

TEST(StatefulFirewall, FollowsAConnectionFromBothEnds) {
  const auto nf = make_nf("stateful-firewall", {{"rules", {{{"action", "deny"}, {"src", "10.0.0.2"}}}}});
  const FrameSpec there;  // 10.0.0.1 -> 10.0.0.2
  const FrameSpec back = reply_of(there);
  const auto state = [&] { return nf->state(1)["flows"][0]["state"]; };
  EXPECT_EQ(run_one(*nf, tcp_frame(back, kSyn), Direction::kReturn).reason, "denied");
  EXPECT_EQ(run_one(*nf, tcp_frame(back, kSynAck), Direction::kReturn).reason, "no-state");
  EXPECT_EQ(run_one(*nf, tcp_frame(there, kSyn)).reason, "");
  EXPECT_EQ(state(), "opening");
  EXPECT_EQ(run_one(*nf, tcp_frame(back, kSynAck), Direction::kReturn).reason, "") << "rules do not ask again";
  EXPECT_EQ(run_one(*nf, tcp_frame(back, kSynAck), Direction::kForward).reason, "no-state") << "another flow";
  EXPECT_EQ(state(), "opening") << "whoever sent the SYN has not been heard again";
  EXPECT_EQ(run_one(*nf, tcp_frame(there, kAck)).reason, "");
  EXPECT_EQ(state(), "established");
  EXPECT_EQ(run_one(*nf, tcp_frame(back, kFinAck), Direction::kReturn).reason, "");
  EXPECT_EQ(state(), "closing");
  EXPECT_EQ(run_one(*nf, tcp_frame(there, kTcpRst)).reason, "");
  EXPECT_EQ(run_one(*nf, tcp_frame(there, kTcpRst)).reason, "no-state");
  const json counts = nf->state(10);
  EXPECT_EQ(counts["flow_count"], 0);
  EXPECT_EQ(counts["flows_opened"], 1);
  EXPECT_EQ(counts["no_state"], 3);
  EXPECT_EQ(counts["rules"][0]["packets"], 1);
  EXPECT_EQ(counts["by_default"], 1);
}

TEST(StatefulFirewall, AConnectionIdleForTheTimeoutIsNone) {
  const auto nf = make_nf("stateful-firewall", {{"idle_timeout_s", 5}, {"transitory_timeout_s", 2}});
  const auto send = [&](uint8_t flags, uint64_t now) {
    return run_one(*nf, tcp_frame({}, flags), Direction::kForward, now).reason;
  };
  EXPECT_EQ(send(kSyn, kSecond), "");
  EXPECT_EQ(send(kAck, 3 * kSecond - 1), "");
  EXPECT_EQ(send(kAck, 8 * kSecond - 2), "");
  EXPECT_EQ(send(kAck, 13 * kSecond - 2), "no-state");
  EXPECT_EQ(nf->state(1)["flows_expired"], 1);
  EXPECT_EQ(send(kSyn, 20 * kSecond), "");
  EXPECT_EQ(send(kAck, 22 * kSecond), "no-state") << "half-open";
  EXPECT_EQ(send(kSyn, 30 * kSecond), "");
  EXPECT_EQ(send(kAck, 30 * kSecond), "");
  EXPECT_EQ(send(kFinAck, 34 * kSecond), "");
  EXPECT_EQ(send(kAck, 36 * kSecond), "no-state") << "closing";
}

// 4,096 flows, of which 500 are established before the flood; 17,884 random SYNs, the server's answers to them, and
// between them 500 new connections: all of the 1,000 carry packets afterwards.
TEST(StatefulFirewall, ASynFloodKeepsNobodyOut) {
  Rng rng(5);
  const auto nf = make_nf("stateful-firewall", json::object());
  uint64_t now = monotonic_ns();
  uint64_t dropped = 0;
  const auto send = [&](const FrameSpec& spec, uint8_t flags, Direction in = Direction::kForward) {
    dropped += run_one(*nf, tcp_frame(spec, flags), in, now += 10'000).verdict.drop;
  };
  const auto connection = [](uint16_t n) {
    FrameSpec spec;
    spec.src_port = static_cast<uint16_t>(1000 + n);
    return spec;
  };
  const auto open = [&](const FrameSpec& spec) {
    send(spec, kSyn);
    send(reply_of(spec), kSynAck, Direction::kReturn);
  };
  const auto flood = [&] {
    FrameSpec spec;
    spec.src = static_cast<uint32_t>(rng());
    spec.src_port = static_cast<uint16_t>(rng());
    open(spec);
  };
  for (uint16_t n = 0; n < 500; ++n) {
    open(connection(n));
    send(connection(n), kAck);
  }
  for (int i = 0; i < 9000; ++i) flood();
  for (uint16_t n = 500; n < 1000; ++n) {
    open(connection(n));
    for (int i = 0; i < 18; ++i) flood();
    send(connection(n), kAck);
  }
  for (uint16_t n = 0; n < 1000; ++n) {
    send(connection(n), kAck);
    send(reply_of(connection(n)), kAck, Direction::kReturn);
  }
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(nf->state(1)["table_full"], 0);
  EXPECT_GT(nf->state(1)["flows_evicted"], 10'000);
}

TEST(StatefulFirewall, IdleConnectionsMakeRoomForABatchOfNewOnes) {
  const auto nf = make_nf("stateful-firewall", {{"max_flows", 20}, {"idle_timeout_s", 5}});
  const auto dropped = [&](uint16_t first_port, uint64_t now) {
    std::vector<Frame> frames;
    for (uint16_t n = 0; n < 20; ++n) {
      FrameSpec spec;
      spec.src_port = static_cast<uint16_t>(first_port + n);
      frames.push_back(tcp_frame(spec, kSyn));
      frames.push_back(tcp_frame(spec, kAck));
    }
    const auto outcomes = run(*nf, frames, Direction::kForward, now);
    return std::ranges::count_if(outcomes, [](const Outcome& o) { return o.reason == "table-full"; });
  };
  EXPECT_EQ(dropped(100, kSecond), 0);
  EXPECT_EQ(dropped(200, 6 * kSecond - 1), 20);
  EXPECT_EQ(dropped(200, 6 * kSecond), 0);
}

TEST(StatefulFirewall, AMovedConnectionGoesOnAsIfItHadStayed) {
  Rng rng(3);
  json config = random_config(rng);
  config["default_action"] = "allow";
  config["rules"] = json::array();
  config["transitory_timeout_s"] = 3;
  config["max_flows"] = 12;
  const auto stays = make_nf("stateful-firewall", nf_config(config));
  // Whole seconds before the move and half ones behind it: what the move takes does not matter.
  const uint64_t start = monotonic_ns() - 8 * kSecond;
  const auto send = [&](NfCore& nf, const std::vector<Frame>& frames, uint64_t now) {
    std::vector<std::string> reasons;
    for (const Outcome& o : run(nf, frames, Direction::kForward, now)) reasons.push_back(o.reason);
    return reasons;
  };
  const auto frames = [&] {
    std::vector<Frame> out;
    for (int i = 0; i < 10; ++i) out.push_back(random_frame(rng, Direction::kForward));
    return out;
  };
  for (uint64_t s = 0; s < 8; ++s) send(*stays, frames(), start + s * kSecond);
  const auto moved = make_nf("stateful-firewall", nf_config(config));
  moved->import_state(json::parse(stays->export_state().dump()));
  ASSERT_EQ(exported(*moved), exported(*stays));
  ASSERT_FALSE(exported(*moved).empty());
  for (uint64_t s = 8; s < 30; ++s) {
    const auto batch = frames();
    const uint64_t now = start + s * kSecond + kSecond / 2;
    ASSERT_EQ(send(*moved, batch, now), send(*stays, batch, now)) << s;
  }
}

TEST(StatefulFirewall, ImportKeepsTheYoungestAndWhatIsThere) {
  const auto row = [](uint16_t port, int state, uint64_t idle_ms) {
    return json::array({0x0a000001, 0x0a000002, port, 80, kTcp, state, idle_ms});
  };
  const auto nf = make_nf("stateful-firewall", {{"max_flows", 3}, {"idle_timeout_s", 1000}});
  FrameSpec spec;
  spec.src_port = 1;
  run_one(*nf, tcp_frame(spec, kSyn));
  run_one(*nf, tcp_frame(spec, kAck));
  nf->import_state({{"flows", {row(1, 3, 0), row(2, 2, 9000), row(3, 2, 7000), row(4, 2, 8000)}}});
  std::map<Flow, std::string> expected;
  expected[{0x0a000001, 0x0a000002, kTcp, 3, 80}] = "established";
  expected[{0x0a000001, 0x0a000002, kTcp, 4, 80}] = "established";
  expected[{0x0a000001, 0x0a000002, kTcp, 1, 80}] = "established";
  EXPECT_EQ(exported(*nf), expected);
  EXPECT_EQ(nf->state(1)["flows_lost_by_import"], 1);
  EXPECT_EQ(nf->export_state()["flows"][2][2], 4) << "youngest first";
  const auto error = [&](const json& bad) {
    return error_pointer([&] { nf->import_state({{"flows", {row(9, 1, 0), bad}}}); });
  };
  EXPECT_EQ(error(row(5, 0, 0)), "/flows/1/5");
  EXPECT_EQ(error(row(5, 4, 0)), "/flows/1/5");
  nf->import_state({{"flows", {row(6, 1, 0)}}});
  EXPECT_EQ(exported(*nf), expected) << "what is being opened displaces nothing";
}

TEST(StatefulFirewall, NewRulesLeaveOpenConnectionsAlone) {
  const auto nf = make_nf("stateful-firewall", json::object());
  std::vector<FrameSpec> specs(4);
  for (uint16_t i = 0; i < 4; ++i) {
    specs[i].src_port = i;
    run_one(*nf, tcp_frame(specs[i], kSyn), Direction::kForward, monotonic_ns());
  }
  nf->configure({{"default_action", "deny"}, {"max_flows", 2}});
  EXPECT_EQ(run_one(*nf, tcp_frame(specs[3], kAck)).reason, "");
  EXPECT_EQ(run_one(*nf, tcp_frame(specs[2], kAck)).reason, "");
  EXPECT_EQ(run_one(*nf, tcp_frame(specs[1], kAck)).reason, "no-state") << "a smaller table keeps the youngest";
  EXPECT_EQ(run_one(*nf, tcp_frame(specs[1], kSyn)).reason, "denied");
}

TEST(StatefulFirewall, PointsToWhatIsWrongInARule) {
  const auto with = [](const char* field, const json& value) {
    json rule = {{"action", "deny"}};
    rule[field] = value;
    return config_error("stateful-firewall", {{"rules", {{{"action", "deny"}}, rule}}});
  };
  EXPECT_EQ(with("action", "drop"), "/rules/1/action");
  EXPECT_EQ(with("src", "10.0.0.0/33"), "/rules/1/src");
  EXPECT_EQ(with("dst", 10), "/rules/1/dst");
  EXPECT_EQ(with("proto", 256), "/rules/1/proto");
  EXPECT_EQ(with("dst_port", "80-79"), "/rules/1/dst_port");
  EXPECT_EQ(with("src_port", 80), "/rules/1/src_port");
  EXPECT_EQ(with("dst_port", "0-65535"), "none");
  EXPECT_EQ(config_error("stateful-firewall", {{"rules", json::array_t(17, {{"action", "deny"}})}}), "/rules");
}

}  // namespace
}  // namespace orrery::stateful_firewall
