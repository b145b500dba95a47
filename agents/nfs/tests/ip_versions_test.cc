// SPDX-License-Identifier: Apache-2.0
// The same traffic over IPv4 and IPv6: NFs that take both do the same with it. Those that rewrite packets are tested
// beside their cores.
#include <gtest/gtest.h>

#include <algorithm>

#include "nfs/ip_prefix.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"

namespace orrery {
namespace {

using namespace orrery::testing;
using nlohmann::json;

struct Nf {
  const char* kind;
  json config;  // with IPv4 addresses
  const char* attribute = nullptr;
  std::vector<std::pair<std::string, uint16_t>> values{};
};

void PrintTo(const Nf& nf, std::ostream* out) {
  *out << nf.kind;
}

const json kRules = json::parse(R"([
  {"action": "deny", "src": "10.0.3.0/24", "dst_port": "78-80"},
  {"action": "allow", "dst": "192.168.1.0/24"},
  {"action": "deny", "proto": "icmp", "src": "10.0.8.0/21"},
  {"action": "deny", "dst": "192.168.2.64/28", "proto": "udp"},
  {"action": "allow", "src": "10.0.0.0/16", "dst": "192.168.0.0/17"}
])");

const std::vector<Nf>& nfs() {
  static const std::vector<Nf> all = {
      {"firewall", {{"rules", kRules}, {"default_action", "deny"}}},
      {"stateful-firewall", {{"rules", kRules}, {"default_action", "allow"}, {"max_flows", 200}}},
      {"monitor", {{"max_flows", 300}}},
      {"elephant-detector",
       {{"threshold_bytes", 300}, {"window_ms", 60000}, {"max_flows", 300}},
       "size",
       {{"mouse", 1}, {"elephant", 2}}},
      {"ids", {{"max_flows", 50}}, "verdict", {{"safe", 1}, {"unsafe", 2}}},
      {"sqli-detector", {{"drop", true}}, "verdict", {{"clean", 1}, {"attack", 2}}},
      {"ddos-detector",
       {{"minimum", 5}, {"deviations", 1}, {"window_ms", 20}, {"drop", true}},
       "verdict",
       {{"normal", 1}, {"attack", 2}}},
      {"rate-limiter", {{"rate_bps", 10'000'000}, {"burst_bytes", 20000}}},
      {"l2-forwarder", {{"swap_macs", true}}},
  };
  return all;
}

std::string to_ipv6(const std::string& prefix) {
  const size_t slash = prefix.find('/');
  const int length = slash == std::string::npos ? 32 : std::stoi(prefix.substr(slash + 1));
  return address_text(ipv6_of(*parse_address(prefix.substr(0, slash)))) + '/' + std::to_string(96 + length);
}

// With IPv6 addresses and ICMPv6 in place of those of IPv4.
json to_ipv6(json config) {
  if (!config.contains("rules")) return config;
  for (json& rule : config["rules"]) {
    for (const char* side : {"src", "dst"})
      if (rule.contains(side)) rule[side] = to_ipv6(rule[side].get<std::string>());
    if (rule.value("proto", json()) == "icmp") rule["proto"] = "icmpv6";
  }
  return config;
}

// What an operator sees, with addresses of IPv4 in place of IPv6, and without times.
json as_ipv4(const json& value) {
  if (value.is_string()) {
    const auto address = parse_ipv6_address(value.get_ref<const std::string&>());
    return address ? json(address_text(static_cast<uint32_t>(address->low))) : value;
  }
  if (!value.is_structured()) return value;
  json out = value;
  for (const auto& [key, item] : out.items()) {
    if (key == "proto" && item == kIcmpv6) item = kIcmp;
    item = as_ipv4(item);
  }
  for (const char* time : {"at_ms", "first_seen_ms", "last_seen_ms"})
    if (out.is_object()) out.erase(time);
  return out;
}

// In no order: flows of equal figures may be in any.
json sorted(json state) {
  for (const char* table : {"flows", "counters"})
    if (state.contains(table)) std::ranges::sort(state[table].get_ref<json::array_t&>());
  return state;
}

// Options of the length by which the IP header is shorter than that of IPv6 and its fragment header.
FrameSpec random_traffic(Rng& rng) {
  FrameSpec spec = random_spec(rng);
  spec.dst = 0xc0a80000 | static_cast<uint32_t>(rng() % 4 << 8 | rng() % 2 << 6);
  const bool fragment = rng() % 10 == 0;
  spec.ip_option_words = fragment ? 7 : 5;
  if (fragment) {
    spec.proto = rng() % 2 == 0 ? kUdp : kTcp;
    spec.payload.resize(spec.payload.size() / 8 * 8 + (spec.proto == kTcp ? 4 : 0) + 8);
    spec.more_fragments = rng() % 2 == 0;
    spec.fragment_offset = static_cast<uint16_t>(spec.more_fragments ? 0 : 1 + rng() % 100);
  } else if (rng() % 8 == 0) {
    static constexpr const char* kPayloads[] = {"GET /../../etc/passwd HTTP/1.1\r\n",
                                                "GET /?id=1' or 1=1 HTTP/1.1\r\n"};
    spec.payload = kPayloads[rng() % 2];
    spec.dst_port = 80;
  }
  return spec;
}

Frame frame_of(FrameSpec spec, uint8_t flags, uint32_t sequence, bool ipv6) {
  if (ipv6) {
    spec.ip_option_words = 0;
    spec = over_ipv6(spec);
  }
  return spec.proto == kTcp && spec.fragment_offset == 0 ? tcp_segment(spec, flags, sequence) : build_frame(spec);
}

class BothIpVersions : public ::testing::TestWithParam<Nf> {};

TEST_P(BothIpVersions, AreTreatedAlike) {
  const Nf& nf = GetParam();
  std::vector<MetadataField> metadata;
  if (nf.attribute != nullptr) metadata.push_back({nf.attribute, 0, 4, nf.values});
  const auto of_ipv4 = make_nf(nf.kind, nf.config, metadata), of_ipv6 = make_nf(nf.kind, to_ipv6(nf.config), metadata);
  Rng rng(1);
  uint64_t now = monotonic_ns();
  size_t drops = 0;
  std::set<uint16_t> classes;
  for (int round = 0; round < 300; ++round, now += 1'000'000) {
    const Direction in = rng() % 4 == 0 ? Direction::kReturn : Direction::kForward;
    std::vector<Frame> ipv4_frames, ipv6_frames;
    for (uint64_t n = rng() % 40; n > 0; --n) {
      FrameSpec spec = random_traffic(rng);
      if (in == Direction::kReturn) spec = reply_of(spec);
      static constexpr uint8_t kFlags[] = {kTcpSyn,           kTcpSyn,           kTcpSyn, kTcpAck,
                                           kTcpAck | kTcpSyn, kTcpFin | kTcpAck, kTcpRst};
      const uint8_t flags = kFlags[rng() % std::size(kFlags)];
      const auto sequence = static_cast<uint32_t>(rng() % 100);
      ipv4_frames.push_back(frame_of(spec, flags, sequence, false));
      ipv6_frames.push_back(frame_of(spec, flags, sequence, true));
      ASSERT_EQ(ipv4_frames.back().size(), ipv6_frames.back().size());
    }
    const auto expected = run(*of_ipv4, ipv4_frames, in, now), actual = run(*of_ipv6, ipv6_frames, in, now);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(actual[i].verdict.drop, expected[i].verdict.drop) << round << '/' << i;
      ASSERT_EQ(actual[i].reason, expected[i].reason);
      ASSERT_EQ(actual[i].metadata, expected[i].metadata) << round << '/' << i;
      ASSERT_EQ(actual[i].verdict.out, expected[i].verdict.out);
      drops += expected[i].verdict.drop;
      classes.insert(expected[i].metadata);
    }
  }
  EXPECT_EQ(sorted(as_ipv4(of_ipv6->state(10000))),
            sorted(of_ipv4->state(10000).is_null() ? json() : as_ipv4(of_ipv4->state(10000))));
  EXPECT_EQ(drops > 0, !of_ipv4->drop_reasons().empty());
  EXPECT_EQ(classes.size(), nf.attribute == nullptr ? 1u : nf.values.size());

  // Flows of IPv6 go on in another instance.
  const auto other = make_nf(nf.kind, to_ipv6(nf.config), metadata);
  const json state = of_ipv6->export_state(RowForm::kBinary);
  other->import_state(json::parse(state.dump()));
  if (!state.contains("flows")) return;
  EXPECT_TRUE(state["flows"].get<std::string>().starts_with("T0ZSMg")) << "OFR2";
  const auto identities = [](const json& exported) {
    std::set<json> out;
    for (const json& row : exported["flows"]) out.insert(json::array_t(row.begin(), row.begin() + 5));
    return out;
  };
  EXPECT_EQ(identities(other->export_state()), identities(of_ipv6->export_state()));
  EXPECT_FALSE(identities(other->export_state()).empty());
}

INSTANTIATE_TEST_SUITE_P(Nfs, BothIpVersions, ::testing::ValuesIn(nfs()), [](const auto& info) {
  std::string name(info.param.kind);
  std::ranges::replace(name, '-', '_');
  return name;
});

// What an NF does not process, its descriptor says, and it is counted there.
TEST(BothIpVersions, AreProcessedUnlessTheDescriptorSaysOtherwise) {
  Rng rng(4);
  const Frame frame = build_frame(random_ipv6_spec(rng));
  size_t found = 0;
  for (std::string_view kind : nf_kinds()) {
    const json descriptor = descriptor_of(kind);
    for (const json& unsupported : descriptor.value("unsupported", json::array())) {
      ASSERT_EQ(unsupported["traffic"], "ipv6") << "a test for other traffic";
      EXPECT_FALSE(std::ranges::any_of(nfs(), [&](const Nf& nf) { return nf.kind == kind; })) << kind;
      const auto nf = make_nf(kind, descriptor["default_config"]);
      const Outcome o = run_one(*nf, frame);
      EXPECT_EQ(o.verdict.drop, unsupported["action"] == "drop") << kind;
      EXPECT_EQ(o.reason, o.verdict.drop ? unsupported["counter"].get<std::string>() : "") << kind;
      EXPECT_EQ(nf->state(1)[unsupported["counter"].get<std::string>()], 1) << kind;
      ++found;
    }
  }
  EXPECT_GT(found, 0u);
}

// A row of two IP versions is no flow.
TEST(BothIpVersions, AreNotMixedInAFlow) {
  const auto nf = make_nf("monitor", json::object());
  const auto fault = [&](const json& src, const json& dst) {
    return error_pointer([&] { nf->import_state({{"flows", {{src, dst, 1, 2, 6, 1, 1, 1, 1}}}}); });
  };
  EXPECT_EQ(fault(1, "2001:db8::1"), "/flows/0/1");
  EXPECT_EQ(fault("2001:db8::1", 1), "/flows/0/1");
  EXPECT_EQ(fault("2001:db8::1", "2001:db8::2"), "none");
}

TEST(BothIpVersions, MeetInOneTable) {
  Rng rng(2);
  const auto nf = make_nf("monitor", {{"max_flows", 100}});
  for (int i = 0; i < 500; ++i) run_one(*nf, build_frame(i % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng)));
  EXPECT_EQ(nf->state(1)["flow_count"], 100) << "the limit is on both together";
}

// IPv6 passes a NAT of IPv4 as it is, in both directions, and is told by itself.
TEST(BothIpVersions, NatCountsIpv6ByItself) {
  Rng rng(3);
  const auto nf = make_nf("nat", {{"external_addresses", {"198.18.0.1"}}});
  for (Direction in : {Direction::kForward, Direction::kReturn}) {
    const Frame frame = build_frame(random_ipv6_spec(rng));
    const Outcome o = run_one(*nf, frame, in);
    EXPECT_FALSE(o.verdict.drop);
    EXPECT_EQ(o.frame, frame);
    EXPECT_EQ(o.verdict.out, in);
  }
  Frame cut = build_frame(random_ipv6_spec(rng));
  cut.resize(60);
  EXPECT_EQ(run_one(*nf, cut).reason, "malformed");
  const json state = nf->state(1);
  EXPECT_EQ(state["ipv6"], 2);
  EXPECT_EQ(state["non_ip"], 0);
}

}  // namespace
}  // namespace orrery
