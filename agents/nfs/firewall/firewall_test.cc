// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "nfs/firewall/rule_set.h"
#include "nfs/testing/nf_driver.h"

namespace orrery::firewall {
namespace {

using namespace orrery::testing;
using nlohmann::json;

bool matches(const FirewallRule& rule, const ParsedPacket& p) {
  const bool has_ports = p.kind == PacketKind::kIpTransport && (p.ip_proto == kTcp || p.ip_proto == kUdp);
  const auto in_prefix = [&](const std::optional<IpPrefix>& wanted, uint32_t ipv4, const Ipv6Address& ipv6) {
    if (!wanted) return true;
    if (const auto* prefix = std::get_if<Ipv4Prefix>(&*wanted))
      return p.ip_version == 4 && (prefix->length == 0 || (ipv4 ^ prefix->address) >> (32 - prefix->length) == 0);
    if (p.ip_version != 6) return false;
    const auto& prefix = std::get<Ipv6Prefix>(*wanted);
    for (unsigned bit = 0; bit < prefix.length; ++bit) {
      const uint64_t differing = bit < 64 ? ipv6.high ^ prefix.address.high : ipv6.low ^ prefix.address.low;
      if (differing >> (63 - bit % 64) & 1) return false;
    }
    return true;
  };
  const auto in_ports = [&](const std::optional<PortRange>& range, uint16_t port) {
    return !range || (has_ports && port >= range->lo && port <= range->hi);
  };
  return in_prefix(rule.src, p.ip_src, p.ipv6_src) && in_prefix(rule.dst, p.ip_dst, p.ipv6_dst) &&
         (!rule.proto || *rule.proto == p.ip_proto) && in_ports(rule.src_port, p.src_port) &&
         in_ports(rule.dst_port, p.dst_port);
}

FirewallRule random_rule(Rng& rng) {
  FirewallRule rule;
  rule.allow = rng() % 2 == 0;
  const bool of_ipv6 = rng() % 3 == 0;
  const auto prefix = [&](uint32_t base) -> IpPrefix {
    if (of_ipv6) {
      const auto ipv6_length = static_cast<uint8_t>(rng() % 5 == 0 ? rng() % 129 : 116 + rng() % 13);
      Ipv6Prefix ipv6{ipv6_of(base | static_cast<uint32_t>(rng() & 0x3fff)), ipv6_length};
      ipv6.address = {ipv6.address.high & ipv6.mask().high, ipv6.address.low & ipv6.mask().low};
      return ipv6;
    }
    const auto length = static_cast<uint8_t>(rng() % 5 == 0 ? rng() % 33 : 20 + rng() % 13);
    const uint32_t mask = length == 0 ? 0 : UINT32_MAX << (32 - length);
    return Ipv4Prefix{(base | static_cast<uint32_t>(rng() & 0x3fff)) & mask, length};
  };
  const auto ports = [&](uint16_t base) {
    const auto lo = static_cast<uint16_t>(rng() % 4 == 0 ? rng() : base + rng() % 8);
    const auto hi = static_cast<uint16_t>(rng() % 2 == 0   ? lo
                                          : rng() % 4 == 0 ? UINT16_MAX
                                                           : std::min<uint64_t>(UINT16_MAX, lo + rng() % 2000));
    return PortRange{lo, hi};
  };
  if (rng() % 2 == 0) rule.src = prefix(0x0a000000);
  if (rng() % 2 == 0) rule.dst = prefix(0xc0a80000);
  if (rng() % 2 == 0) rule.proto = std::array<uint8_t, 6>{kTcp, kUdp, kIcmp, kIcmpv6, kGre, 255}[rng() % 6];
  if (rng() % 4 == 0) rule.src_port = ports(1024);
  if (rng() % 3 == 0) rule.dst_port = ports(78);
  return rule;
}

json to_json(const FirewallRule& rule, Rng& rng) {
  json out = {{"action", rule.allow ? "allow" : "deny"}};
  const auto prefix = [](const IpPrefix& prefix) {
    const auto text = [](const auto& p, uint8_t whole) {
      return address_text(p.address) + (p.length == whole ? "" : "/" + std::to_string(p.length));
    };
    const auto* ipv4 = std::get_if<Ipv4Prefix>(&prefix);
    return ipv4 != nullptr ? text(*ipv4, 32) : text(std::get<Ipv6Prefix>(prefix), 128);
  };
  const auto ports = [&](const PortRange& r) -> json {
    if (r.lo == r.hi && rng() % 2 == 0) return r.lo;
    return std::to_string(r.lo) + (r.lo == r.hi ? "" : "-" + std::to_string(r.hi));
  };
  if (rule.src) out["src"] = prefix(*rule.src);
  if (rule.dst) out["dst"] = prefix(*rule.dst);
  if (rule.proto)
    out["proto"] = *rule.proto == kTcp ? json("tcp") : *rule.proto == kUdp ? json("udp") : json(*rule.proto);
  if (rule.src_port) out["src_port"] = ports(*rule.src_port);
  if (rule.dst_port) out["dst_port"] = ports(*rule.dst_port);
  return out;
}

Frame random_ip_frame(Rng& rng) {
  FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
  if (rng() % 8 == 0) spec.proto = rng() % 2 == 0 ? kGre : 255;
  if (rng() % 8 == 0) spec.fragment_offset = 5;
  if (rng() % 16 == 0) spec.src = static_cast<uint32_t>(rng());
  if (rng() % 16 == 0) spec.dst = rng() % 2 == 0 ? 0 : UINT32_MAX;
  return build_frame(spec);
}

TEST(Firewall, EqualsALinearSearchOnRandomRulesAndPackets) {
  Rng rng(1);
  for (size_t rule_count : {0, 1, 2, 10, 63, 64, 65, 100, 500, 4096}) {
    std::vector<FirewallRule> rules;
    json config = {{"default_action", rng() % 2 == 0 ? "allow" : "deny"}, {"rules", json::array()}};
    for (size_t i = 0; i < rule_count; ++i) {
      rules.push_back(random_rule(rng));
      // The first match of a large set is to lie deep in it too.
      if (rule_count > 100 && !rules.back().proto) rules.back().proto = 254;
      config["rules"].push_back(to_json(rules.back(), rng));
    }
    const auto nf = make_nf("firewall", config);
    std::vector<uint64_t> hits(rule_count);
    std::vector<Frame> frames;
    for (int i = 0; i < 3000; ++i) frames.push_back(random_ip_frame(rng));
    const auto outcomes = run(*nf, frames);
    for (size_t i = 0; i < frames.size(); ++i) {
      const ParsedPacket p = parse_packet(frames[i]);
      bool allow = config["default_action"] == "allow";
      for (size_t r = 0; r < rules.size(); ++r)
        if (matches(rules[r], p)) {
          allow = rules[r].allow;
          ++hits[r];
          break;
        }
      ASSERT_EQ(outcomes[i].verdict.drop, !allow) << rule_count << " rules, packet " << i;
      ASSERT_EQ(outcomes[i].reason, allow ? "" : "denied");
    }
    const json state = nf->state(10000);
    for (size_t r = 0; r < rules.size(); ++r) ASSERT_EQ(state["rules"][r]["packets"], hits[r]);
    EXPECT_EQ(state["allowed"].get<uint64_t>() + state["denied"].get<uint64_t>(), frames.size());
  }
}

TEST(Firewall, ARuleHasAddressesOfOneIpVersion) {
  const auto fault = [](const char* src, const char* dst) {
    return config_error("firewall", {{"rules", {{{"action", "deny"}, {"src", src}, {"dst", dst}}}}});
  };
  EXPECT_EQ(fault("10.0.0.0/8", "2001:db8::/32"), "/rules/0/dst");
  EXPECT_EQ(fault("2001:db8::/32", "10.0.0.1"), "/rules/0/dst");
  EXPECT_EQ(fault("2001:db8::/32", "2001:db8::1"), "none");
  EXPECT_EQ(fault("2001:db8::/129", "2001:db8::1"), "/rules/0/src");
}

TEST(Firewall, RulesWithPortsPassLaterFragmentsBy) {
  const auto nf = make_nf("firewall", {{"default_action", "allow"},
                                       {"rules", {{{"action", "deny"}, {"proto", "tcp"}, {"dst_port", "0-65535"}}}}});
  FrameSpec spec;
  spec.more_fragments = true;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "denied");
  spec.fragment_offset = 2;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "");
  spec = {};
  spec.proto = kIcmp;
  EXPECT_EQ(run_one(*nf, build_frame(spec)).reason, "");
}

TEST(Firewall, CountsMalformedAndNonIp) {
  const auto nf = make_nf("firewall", {{"default_action", "deny"}});
  EXPECT_EQ(run_one(*nf, Frame(5)).reason, "malformed");
  EXPECT_EQ(run_one(*nf, arp_frame()).reason, "");
  EXPECT_EQ(run_one(*nf, build_frame({})).reason, "denied");
  const json state = nf->state(1);
  EXPECT_EQ(state["malformed"], 1);
  EXPECT_EQ(state["non_ip"], 1);
  EXPECT_EQ(state["by_default"], 1);
}

TEST(Firewall, PointsToWhatIsWrongInARule) {
  const auto error = [](const json& rule) {
    return config_error("firewall", {{"rules", {{{"action", "deny"}}, rule}}});
  };
  const json deny = {{"action", "deny"}};
  const auto with = [&](const char* field, const json& value) {
    json rule = deny;
    rule[field] = value;
    return error(rule);
  };
  EXPECT_EQ(error(json::object()), "/rules/1/action");
  EXPECT_EQ(error("deny"), "/rules/1");
  EXPECT_EQ(with("action", "drop"), "/rules/1/action");
  EXPECT_EQ(with("zz", 1), "/rules/1/zz");
  for (const json& bad :
       {json("10.0.0.0/33"), json("10.0.0"), json("10.0.0.256"), json("10.0.0.0/"), json(""), json("x"), json(10),
        json("10.0.0.0.0"), json("10.0.0.01"), json(" 10.0.0.1"), json("10.0.0.-1")}) {
    EXPECT_EQ(with("src", bad), "/rules/1/src") << bad;
    EXPECT_EQ(with("dst", bad), "/rules/1/dst") << bad;
  }
  for (const json& bad :
       {json("80-79"), json("65536"), json(65536), json(-1), json("80-"), json("-80"), json(""), json(1.5)}) {
    EXPECT_EQ(with("src_port", bad), "/rules/1/src_port") << bad;
    EXPECT_EQ(with("dst_port", bad), "/rules/1/dst_port") << bad;
  }
  for (const json& bad : {json("sctp"), json(256), json(-1), json(nullptr)})
    EXPECT_EQ(with("proto", bad), "/rules/1/proto") << bad;
  EXPECT_EQ(with("proto", 132), "none");
  EXPECT_EQ(with("src", "0.0.0.0/0"), "none");
  EXPECT_EQ(config_error("firewall", {{"rules", json::array_t(4097, deny)}}), "/rules");
}

TEST(Firewall, NewRulesActAtOnceAndOldCountsStayWhenTheyAreTheSame) {
  const json deny_all = {{"default_action", "allow"}, {"rules", {{{"action", "deny"}}}}};
  const auto nf = make_nf("firewall", deny_all);
  EXPECT_EQ(run_one(*nf, build_frame({})).reason, "denied");
  nf->configure(deny_all);
  EXPECT_EQ(nf->state(1)["rules"][0]["packets"], 1);
  EXPECT_THROW(nf->configure({{"rules", {{{"action", "allow"}}, {{"action", "no"}}}}}), ConfigError);
  EXPECT_EQ(run_one(*nf, build_frame({})).reason, "denied");
  nf->configure({{"rules", {{{"action", "allow"}, {"src", "10.0.0.0/8"}}}}});
  EXPECT_EQ(run_one(*nf, build_frame({})).reason, "");
  EXPECT_EQ(nf->state(1)["rules"][0]["packets"], 1);
}

}  // namespace
}  // namespace orrery::firewall
