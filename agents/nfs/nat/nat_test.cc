// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "nfs/movable_flows.h"
#include "nfs/testing/nf_driver.h"
#include "support/checksum.h"

namespace orrery::nat {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint32_t kExternal = 0xc6120001;  // 198.18.0.1
constexpr uint64_t kSecond = 1'000'000'000;

json config(const json& changes = json::object()) {
  json c = {{"external_addresses", {"198.18.0.1", "198.18.0.2"}}, {"max_flows", 5000}};
  c.update(changes);
  return c;
}

// The reply to a packet: both ends exchanged, checksums right.
Frame reply_to(const Frame& frame, const FrameSpec& spec) {
  const ParsedPacket p = parse_packet(frame);
  FrameSpec reply = spec;
  reply.src = p.ip_dst;
  reply.dst = p.ip_src;
  if (spec.proto == kIcmp) {
    reply.icmp_type = 0;
    reply.src_port = load_be16(&frame[p.l4_offset + 4u]);
  } else {
    reply.src_port = p.dst_port;
    reply.dst_port = p.src_port;
  }
  return build_frame(reply);
}

TEST(Nat, ReturnRestoresWhatForwardChanged) {
  Rng rng(1);
  const auto nf = make_nf("nat", config());
  for (int i = 0; i < 5000; ++i) {
    const FrameSpec spec = random_spec(rng);
    const Frame frame = build_frame(spec);
    const Outcome out = run_one(*nf, frame);
    ASSERT_EQ(out.reason, "");
    ASSERT_EQ(out.verdict.out, Direction::kForward);
    ASSERT_TRUE(checksums_hold(out.frame));

    // The same packet, built anew with the external end: no other byte differs.
    const ParsedPacket p = parse_packet(out.frame);
    FrameSpec expected = spec;
    expected.src = p.ip_src;
    expected.src_port = spec.proto == kIcmp ? load_be16(&out.frame[p.l4_offset + 4u]) : p.src_port;
    ASSERT_EQ(out.frame, build_frame(expected));
    ASSERT_TRUE(p.ip_src == kExternal || p.ip_src == kExternal + 1);
    ASSERT_GE(expected.src_port, 1024);

    const Outcome back = run_one(*nf, reply_to(out.frame, spec), Direction::kReturn);
    ASSERT_EQ(back.reason, "");
    ASSERT_EQ(back.verdict.out, Direction::kReturn);
    ASSERT_EQ(back.frame, reply_to(frame, spec));
  }
}

TEST(Nat, KeepsTheParsedHeaderInStep) {
  const auto nf = make_nf("nat", config());
  Frame frame = build_frame({});
  NfPacket packet{frame.data(), static_cast<uint32_t>(frame.size()), parse_packet(frame), 0};
  NfVerdict verdict;
  nf->process({&packet, 1}, Direction::kForward, {&verdict, 1}, monotonic_ns());
  const ParsedPacket p = parse_packet(frame);
  EXPECT_EQ(packet.parsed.ip_src, p.ip_src);
  EXPECT_EQ(packet.parsed.src_port, p.src_port);
}

TEST(Nat, MapsAnEndpointOnceAndNoTwoAlike) {
  Rng rng(2);
  const auto nf = make_nf("nat", config());
  std::map<std::tuple<int, uint32_t, uint16_t>, std::pair<uint32_t, uint16_t>> seen;
  std::set<std::tuple<int, uint32_t, uint16_t>> used;
  for (int i = 0; i < 4000; ++i) {
    FrameSpec spec = random_spec(rng);
    if (spec.proto == kIcmp) continue;
    const ParsedPacket p = parse_packet(run_one(*nf, build_frame(spec)).frame);
    const auto [it, fresh] = seen.try_emplace({spec.proto, spec.src, spec.src_port}, p.ip_src, p.src_port);
    ASSERT_EQ(it->second, std::pair(p.ip_src, p.src_port)) << "endpoint-independent (RFC 4787 REQ-1)";
    ASSERT_EQ(fresh, used.emplace(spec.proto, p.ip_src, p.src_port).second);
  }
}

TEST(Nat, AHostKeepsOneExternalAddress) {
  const auto nf = make_nf("nat", config());
  std::set<uint32_t> all;
  for (uint32_t host = 0; host < 50; ++host) {
    std::set<uint32_t> addresses;
    for (uint16_t port = 1; port < 20; ++port) {
      FrameSpec spec;
      spec.src += host;
      spec.src_port = port;
      addresses.insert(parse_packet(run_one(*nf, build_frame(spec)).frame).ip_src);
    }
    EXPECT_EQ(addresses.size(), 1u);
    all.merge(addresses);
  }
  EXPECT_EQ(all.size(), 2u);
}

TEST(Nat, TranslatesIcmpErrorsWithWhatTheyQuote) {
  Rng rng(3);
  const auto nf = make_nf("nat", config());
  for (int i = 0; i < 3000; ++i) {
    FrameSpec spec = random_spec(rng);
    spec.padding = 0;
    spec.vlan = false;
    const Frame frame = build_frame(spec);
    const Outcome out = run_one(*nf, frame);
    size_t quoted = 8 + rng() % 60;
    if (quoted == 17) ++quoted;  // half a TCP checksum cannot be translated
    const uint8_t type = rng() % 2 == 0 ? 3 : 11;
    const Outcome back = run_one(*nf, build_icmp_error(0x08080808, type, out.frame, quoted), Direction::kReturn);
    ASSERT_EQ(back.reason, "");
    ASSERT_EQ(back.frame, build_icmp_error(0x08080808, type, frame, quoted));
    ASSERT_TRUE(checksums_hold(back.frame));

    // The other way: the inside refuses a reply. The outside must see its own reply refused by the external address.
    if (spec.proto == kIcmp) continue;
    const Frame inner = reply_to(frame, spec);
    const ParsedPacket external = parse_packet(out.frame);
    FrameSpec outer_reply = spec;
    outer_reply.src = spec.dst;
    outer_reply.src_port = spec.dst_port;
    outer_reply.dst = external.ip_src;
    outer_reply.dst_port = external.src_port;
    Frame expected = build_icmp_error(0, type, build_frame(outer_reply), quoted);
    Frame error = build_icmp_error(spec.src, type, inner, quoted);
    const Outcome forward = run_one(*nf, error);
    ASSERT_EQ(forward.reason, "");
    ASSERT_TRUE(checksums_hold(forward.frame));
    store_be32(&expected[14 + 12], external.ip_src);
    store_be16(&expected[14 + 10], 0);
    store_be16(&expected[14 + 10], checksum({&expected[14], 20}));
    ASSERT_EQ(forward.frame, expected);
  }
}

TEST(Nat, GivesTheReasonForEachDrop) {
  const auto nf = make_nf("nat", config());
  EXPECT_EQ(run_one(*nf, Frame(5)).reason, "malformed");
  FrameSpec spec;
  spec.dst = kExternal;
  EXPECT_EQ(run_one(*nf, build_frame(spec), Direction::kReturn).reason, "no_mapping");
  spec.dst = 0x01020304;
  EXPECT_EQ(run_one(*nf, build_frame(spec), Direction::kReturn).reason, "no_mapping");
  EXPECT_EQ(run_one(*nf, build_icmp_error(1, 3, build_frame(spec), 8), Direction::kReturn).reason, "no_mapping");
  EXPECT_EQ(run_one(*nf, build_icmp_error(1, 3, build_frame(spec), 8)).reason, "no_mapping");
  EXPECT_EQ(run_one(*nf, build_icmp_error(1, 3, build_frame(spec), 4)).reason, "unsupported") << "ports cut off";
  spec.fragment_offset = 3;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "fragment");
  EXPECT_EQ(run_one(*nf, build_frame(spec), Direction::kReturn).reason, "fragment");
  spec = {};
  spec.proto = kGre;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "unsupported");
  spec.proto = kIcmp;
  EXPECT_EQ(run_one(*nf, build_frame(spec), Direction::kReturn).reason, "unsupported") << "a request from outside";
  EXPECT_EQ(nf->state(1)["flows"], 0);
}

TEST(Nat, DropsWhenPortsAreExhaustedAndReusesThemAfterTheTimeout) {
  const auto nf = make_nf(
      "nat",
      config({{"external_addresses", {"198.18.0.1"}}, {"port_lo", 5000}, {"port_hi", 5009}, {"idle_timeout_s", 10}}));
  const uint64_t start = monotonic_ns();
  const auto send = [&](uint16_t port, uint8_t proto, uint64_t now) {
    FrameSpec spec;
    spec.src_port = port;
    spec.proto = proto;
    return run_one(*nf, build_frame(spec), Direction::kForward, now);
  };
  std::set<uint16_t> ports;
  for (uint16_t i = 0; i < 10; ++i) ports.insert(parse_packet(send(100 + i, kTcp, start).frame).src_port);
  EXPECT_EQ(ports.size(), 10u);
  EXPECT_EQ(*ports.begin(), 5000);
  EXPECT_EQ(*ports.rbegin(), 5009);
  EXPECT_EQ(send(200, kTcp, start).reason, "no_port");
  EXPECT_EQ(send(200, kUdp, start).reason, "") << "each protocol has ports of its own";
  EXPECT_EQ(send(100, kTcp, start + 9 * kSecond).reason, "") << "lives on";
  EXPECT_EQ(send(200, kTcp, start + 9 * kSecond).reason, "no_port");
  EXPECT_EQ(send(200, kTcp, start + 11 * kSecond).reason, "");
  const Outcome old = send(100, kTcp, start + 11 * kSecond);
  EXPECT_EQ(parse_packet(old.frame).src_port, 5000);
  for (uint64_t s = 30; s < 33; ++s) send(300, kUdp, start + s * kSecond);
  EXPECT_EQ(nf->state(10)["flows"], 1);
  EXPECT_EQ(nf->state(10)["addresses"][0]["free_ports"]["tcp"], 10);
}

TEST(Nat, HoldsAtMostItsNumberOfFlows) {
  const auto nf = make_nf("nat", config({{"max_flows", 3}}));
  int dropped = 0;
  for (uint16_t port = 1; port <= 5; ++port) {
    FrameSpec spec;
    spec.src_port = port;
    dropped += run_one(*nf, build_frame(spec)).reason == "no_port";
  }
  EXPECT_EQ(dropped, 2);
}

TEST(Nat, KeepsMappingsOverAReconfigurationWhereItCan) {
  const auto nf = make_nf("nat", config({{"external_addresses", {"198.18.0.1"}}}));
  std::vector<FrameSpec> specs(20);
  std::vector<Frame> before;
  for (uint16_t i = 0; i < 20; ++i) {
    specs[i].src_port = static_cast<uint16_t>(100 + i);
    before.push_back(run_one(*nf, build_frame(specs[i]), Direction::kForward, monotonic_ns()).frame);
  }
  nf->configure(config({{"external_addresses", {"198.18.0.9", "198.18.0.1"}}, {"port_hi", 1024 + 9}}));
  EXPECT_EQ(nf->state(1)["flows"], 10);
  EXPECT_EQ(nf->state(1)["flows_lost_by_reconfiguration"], 10);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(run_one(*nf, build_frame(specs[i])).frame, before[i]);
    EXPECT_EQ(run_one(*nf, reply_to(before[i], specs[i]), Direction::kReturn).frame,
              reply_to(build_frame(specs[i]), specs[i]));
  }
  for (size_t i = 10; i < 20; ++i)
    EXPECT_EQ(run_one(*nf, reply_to(before[i], specs[i]), Direction::kReturn).reason, "no_mapping");
  EXPECT_EQ(config_error("nat", config({{"port_lo", 2000}, {"port_hi", 1999}})), "/port_hi");
  EXPECT_THROW(nf->configure(config({{"port_lo", 0}})), ConfigError);
  EXPECT_EQ(run_one(*nf, build_frame(specs[0])).frame, before[0]);
}

TEST(Nat, AChangeThatKeepsThePortsCopiesNoMapping) {
  const auto nf = make_nf("nat", config());
  const Frame before = run_one(*nf, build_frame({})).frame;
  const auto table = nf->movable_flows()[0]->table();
  json c = config({{"mode", "port-restricted"}, {"idle_timeout_s", 300}});
  nf->configure(c);
  EXPECT_EQ(nf->movable_flows()[0]->table(), table);
  EXPECT_EQ(run_one(*nf, build_frame({})).frame, before);
  c["port_hi"] = 50000;
  nf->configure(c);
  EXPECT_NE(nf->movable_flows()[0]->table(), table);
  EXPECT_EQ(run_one(*nf, build_frame({})).frame, before);
}

TEST(Nat, AFlowMovesToAnotherInstance) {
  const auto one = make_nf("nat", config());
  const auto two = make_nf("nat", config());
  Rng rng(5);
  std::vector<FrameSpec> specs;
  std::vector<Frame> outs;
  for (int i = 0; i < 200; ++i) {
    specs.push_back(random_spec(rng));
    outs.push_back(run_one(*one, build_frame(specs.back())).frame);
  }
  two->import_state(one->export_state());
  EXPECT_EQ(two->state(1)["imports_refused"], 0);
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(run_one(*two, build_frame(specs[i])).frame, outs[i]);
    EXPECT_EQ(run_one(*two, reply_to(outs[i], specs[i]), Direction::kReturn).frame,
              reply_to(build_frame(specs[i]), specs[i]));
  }
  EXPECT_EQ(two->state(1)["flows_created"], 0);

  const auto full = make_nf("nat", config({{"max_flows", 5}}));
  full->import_state(one->export_state());
  EXPECT_EQ(full->state(1)["flows"], 5);
  const auto elsewhere = make_nf("nat", config({{"external_addresses", {"198.18.9.9"}}}));
  elsewhere->import_state(one->export_state());
  EXPECT_EQ(elsewhere->state(1)["flows"], 0);
  EXPECT_GT(elsewhere->state(1)["imports_refused"], 0);
}

const json kRestricted = {{"mode", "port-restricted"}};

TEST(Nat, PortRestrictedOnlyWhoWasSentToMayAnswer) {
  Rng rng(6);
  const json one_address = {{"external_addresses", {"198.18.0.1"}}};
  json restricted = config(one_address);
  restricted.update(kRestricted);
  const auto nf = make_nf("nat", restricted), open = make_nf("nat", config(one_address));
  // By external endpoint: to whom the inside has sent.
  std::map<std::tuple<int, uint32_t, uint16_t>, std::set<std::pair<uint32_t, uint16_t>>> sent_to;
  std::map<std::string, int> seen;
  const auto spec_of = [&](uint8_t proto) {
    FrameSpec spec;
    spec.proto = proto;
    spec.src = 0x0a000000 + static_cast<uint32_t>(rng() % 4);
    spec.dst = 0x08080800 + static_cast<uint32_t>(rng() % 4);
    spec.src_port = static_cast<uint16_t>(1024 + rng() % 4);
    spec.dst_port = static_cast<uint16_t>(proto == kIcmp ? 80 : 80 + rng() % 4);
    return spec;
  };
  for (int i = 0; i < 20'000; ++i) {
    const uint8_t proto = std::array<uint8_t, 3>{kTcp, kUdp, kIcmp}[rng() % 3];
    FrameSpec spec = spec_of(proto);
    if (rng() % 50 == 0) {
      const Outcome out = run_one(*nf, build_frame(spec));
      ASSERT_EQ(out.reason, "");
      ASSERT_EQ(out.frame, run_one(*open, build_frame(spec)).frame) << "translated as in mode dynamic";
      const ParsedPacket p = parse_packet(out.frame);
      const uint16_t port = proto == kIcmp ? load_be16(&out.frame[p.l4_offset + 4u]) : p.src_port;
      sent_to[{proto, p.ip_src, port}].emplace(spec.dst, proto == kIcmp ? 0 : spec.dst_port);
      continue;
    }
    if (sent_to.empty()) continue;
    auto it = sent_to.begin();
    std::advance(it, rng() % sent_to.size());
    const auto& [external_proto, address, port] = it->first;
    spec = spec_of(static_cast<uint8_t>(external_proto));
    FrameSpec sent = spec;
    sent.src = address;
    sent.src_port = port;
    const bool known = it->second.contains({spec.dst, external_proto == kIcmp ? 0 : spec.dst_port});
    const bool error = rng() % 4 == 0;
    const Frame frame =
        error ? build_icmp_error(0x01010101, 3, build_frame(sent), 8) : reply_to(build_frame(sent), sent);
    const Outcome back = run_one(*nf, frame, Direction::kReturn);
    ASSERT_EQ(back.reason, known ? "" : "filtered");
    const Outcome anyone = run_one(*open, frame, Direction::kReturn);
    ASSERT_EQ(anyone.reason, "") << "endpoint-independent filtering";
    if (known) {
      ASSERT_EQ(back.frame, anyone.frame);
    }
    ++seen[back.reason + (error ? " error" : "")];
  }
  for (const char* what : {"", "filtered", " error", "filtered error"}) EXPECT_GT(seen[what], 300) << what;
}

TEST(Nat, PeersAreForgottenAfterTheTimeoutAndKeptByReplies) {
  const auto nf = make_nf("nat", config({{"mode", "port-restricted"}, {"idle_timeout_s", 10}}));
  const uint64_t now = monotonic_ns();
  FrameSpec a, b;
  b.dst_port = 443;
  const auto send = [&](const FrameSpec& spec, uint64_t at) {
    return run_one(*nf, build_frame(spec), Direction::kForward, at).frame;
  };
  const Frame out_a = send(a, now), out_b = send(b, now);
  const auto reply = [&](const Frame& out, const FrameSpec& spec, uint64_t at) {
    return run_one(*nf, reply_to(out, spec), Direction::kReturn, at).reason;
  };
  EXPECT_EQ(reply(out_b, b, now + 8 * kSecond), "");
  EXPECT_EQ(reply(out_b, b, now + 16 * kSecond), "");
  EXPECT_EQ(reply(out_a, a, now + 17 * kSecond), "filtered") << "the mapping lives by b, the peer does not";
  EXPECT_EQ(reply(out_b, b, now + 17 * kSecond), "");
}

TEST(Nat, WithoutRoomForAPeerNothingIsSentToIt) {
  const auto nf = make_nf("nat", config({{"mode", "port-restricted"}, {"max_peers", 3}}));
  const auto send = [&](uint16_t port) {
    FrameSpec spec;
    spec.dst_port = port;
    return run_one(*nf, build_frame(spec)).reason;
  };
  for (uint16_t port = 1; port <= 3; ++port) EXPECT_EQ(send(port), "");
  EXPECT_EQ(send(4), "no_peer");
  EXPECT_EQ(send(3), "");
  EXPECT_EQ(nf->state(1)["peers"], 3);
}

TEST(Nat, PeersMoveToAnotherInstance) {
  for (const RowForm form : {RowForm::kArrays, RowForm::kBinary}) {
    const auto one = make_nf("nat", config(kRestricted)), two = make_nf("nat", config(kRestricted));
    Rng rng(7);
    std::vector<FrameSpec> specs;
    std::vector<Frame> outs;
    for (int i = 0; i < 200; ++i) {
      specs.push_back(random_spec(rng));
      outs.push_back(run_one(*one, build_frame(specs.back())).frame);
    }
    two->import_state(json::parse(one->export_state(form).dump()));
    for (size_t i = 0; i < specs.size(); ++i) {
      EXPECT_EQ(run_one(*two, reply_to(outs[i], specs[i]), Direction::kReturn).frame,
                reply_to(build_frame(specs[i]), specs[i]));
      Frame stranger = reply_to(outs[i], specs[i]);
      const ParsedPacket p = parse_packet(stranger);
      stranger[p.l3_offset + 12u] ^= 1;
      EXPECT_EQ(run_one(*two, stranger, Direction::kReturn).reason, "filtered");
    }
    const auto dynamic = make_nf("nat", config());
    dynamic->import_state(one->export_state(form));
    EXPECT_EQ(dynamic->state(1)["flows"], one->state(1)["flows"]);
    two->configure(config());
    EXPECT_FALSE(two->export_state().contains("peers"));
    EXPECT_EQ(run_one(*two, reply_to(outs[0], specs[0]), Direction::kReturn).reason, "");
  }
}

TEST(Nat, PointsToABadAddress) {
  EXPECT_EQ(config_error("nat", json::object()), "/external_addresses");
  EXPECT_EQ(config_error("nat", config({{"external_addresses", json::array()}})), "/external_addresses");
  EXPECT_EQ(config_error("nat", config({{"external_addresses", {"198.18.0.1", "x"}}})), "/external_addresses/1");
  EXPECT_EQ(config_error("nat", config({{"external_addresses", {"198.18.0.1", 5}}})), "/external_addresses/1");
  EXPECT_EQ(config_error("nat", config({{"external_addresses", {"1.1.1.1", "1.1.1.1"}}})), "/external_addresses/1");
  EXPECT_EQ(config_error("nat", config({{"external_addresses", json::array_t(17, "1.1.1.1")}})), "/external_addresses");
}

}  // namespace
}  // namespace orrery::nat
