// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "nfs/load-balancer/balancer_ends.h"

namespace orrery::load_balancer {
namespace {

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
    ASSERT_EQ(out.verdict.out, Direction::kForward);
    if (std::ranges::find(spec.extensions, kAuthentication, &ExtensionHeader::type) != spec.extensions.end()) {
      ASSERT_EQ(out.reason, "unsupported") << "it signs the addresses";
      ASSERT_EQ(out.frame, build_frame(spec));
      continue;
    }
    ASSERT_EQ(out.reason, "");

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

TEST(LoadBalancer, WritesOverNoAddressThatIsSignedOrNotTheLast) {
  json c = config(2, 6);
  const auto nat = make_nf("load-balancer", c);
  c["mode"] = "direct";
  const auto direct = make_nf("load-balancer", c);
  FrameSpec spec = request(1, 6);
  const Outcome known = run_one(*nat, build_frame(spec));
  for (const ExtensionHeader& extension :
       {ExtensionHeader{kAuthentication, 3}, ExtensionHeader{.type = kRouting, .units = 3, .segments_left = 1}}) {
    spec.extensions = {{kHopByHop}, extension};
    const Frame frame = build_frame(spec);
    EXPECT_EQ(run_one(*nat, frame).reason, "unsupported");
    EXPECT_EQ(run_one(*nat, frame).frame, frame);
    EXPECT_EQ(run_one(*direct, frame).reason, "") << "which writes nothing";
    FrameSpec reply = reply_to(request(1, 6), known);
    reply.extensions = spec.extensions;
    EXPECT_EQ(run_one(*nat, build_frame(reply), Direction::kReturn).reason, "unsupported");
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
