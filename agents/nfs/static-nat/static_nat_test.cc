// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "nfs/ip_prefix.h"
#include "nfs/testing/nf_driver.h"

namespace orrery::static_nat {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint32_t kInside = 0x0a000000;   // 10.0.0.0
constexpr uint32_t kOutside = 0xc6120000;  // 198.18.0.0
constexpr uint32_t kHosts = 40;

std::string text(uint32_t address, uint8_t version) {
  return version == 6 ? address_text(ipv6_of(address)) : address_text(address);
}

// Host n of the inside has outside address 7n mod 40, of each IP version; every third mapping is left to the list.
json config(const json& changes = json::object()) {
  json c = {{"external_addresses", json::array()}, {"mappings", json::array()}};
  for (const uint8_t version : {4, 6}) {
    for (uint32_t n = 0; n < kHosts; ++n) {
      c["external_addresses"].push_back(text(kOutside + kHosts - 1 - n, version));
      c["mappings"].push_back(
          {{"inside", text(kInside + n, version)}, {"outside", text(kOutside + 7 * n % kHosts, version)}});
    }
  }
  c.update(changes);
  return c;
}

uint32_t outside_of(uint32_t inside) {
  return kOutside + 7 * (inside - kInside) % kHosts;
}

FrameSpec random_packet(Rng& rng) {
  FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
  std::erase_if(spec.extensions, [](const ExtensionHeader& it) { return it.type == kAuthentication; });
  spec.src = kInside + static_cast<uint32_t>(rng() % (kHosts + 4));
  if (rng() % 6 == 0) spec.proto = kGre;
  if (rng() % 6 == 0) {
    spec.payload.resize(spec.payload.size() / 8 * 8 + 8);
    spec.fragment_offset = static_cast<uint16_t>(1 + rng() % 100);
  }
  return spec;
}

TEST(StaticNat, EqualsAPacketMadeWithTheOtherAddress) {
  Rng rng(1);
  const auto drops = make_nf("static-nat", config()), passes = make_nf("static-nat", config({{"unmapped", "pass"}}));
  std::map<std::string, int> reasons;
  for (int i = 0; i < 10'000; ++i) {
    const FrameSpec spec = random_packet(rng);
    const bool mapped = spec.src < kInside + kHosts;
    const Frame frame = build_frame(spec);
    const Outcome out = run_one(*drops, frame);
    ++reasons[out.reason];
    ASSERT_EQ(out.reason, mapped ? "" : "no_mapping");
    FrameSpec sent = spec;
    if (mapped) sent.src = outside_of(spec.src);
    ASSERT_EQ(run_one(*passes, frame).frame, build_frame(sent));
    if (!mapped) continue;
    ASSERT_EQ(out.frame, build_frame(sent));

    // From outside to it, whether the inside has sent or not.
    FrameSpec back = random_packet(rng), restored = back;
    restored.dst = kInside + static_cast<uint32_t>(rng() % kHosts);
    back.dst = outside_of(restored.dst);
    const Outcome in = run_one(*drops, build_frame(back), Direction::kReturn);
    ASSERT_EQ(in.reason, "");
    ASSERT_EQ(in.verdict.out, Direction::kReturn);
    ASSERT_EQ(in.frame, build_frame(restored));
  }
  EXPECT_GT(reasons["no_mapping"], 500);
}

TEST(StaticNat, IcmpErrorsAreTranslatedWithWhatTheyQuote) {
  Rng rng(2);
  const auto nf = make_nf("static-nat", config());
  for (int i = 0; i < 5000; ++i) {
    FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
    std::erase_if(spec.extensions, [](const ExtensionHeader& it) { return it.type == kAuthentication; });
    spec.vlan = spec.service_vlan = false;
    spec.padding = 0;
    spec.src = kInside + static_cast<uint32_t>(rng() % kHosts);
    if (rng() % 4 == 0) spec.proto = kGre;
    if (rng() % 4 == 0) spec.fragment_offset = 3;
    spec.payload += "12345678";
    size_t bytes = 8 + rng() % 60;
    if (bytes == 17) ++bytes;  // half a TCP checksum cannot be translated
    const uint8_t type = spec.ip_version == 6 ? 1 : 3;
    FrameSpec sent = spec;
    sent.src = outside_of(spec.src);
    const Outcome back = run_one(*nf, build_icmp_error(0x08080808, type, build_frame(sent), bytes), Direction::kReturn);
    ASSERT_EQ(back.reason, "");
    ASSERT_EQ(back.frame, build_icmp_error(0x08080808, type, build_frame(spec), bytes));

    std::swap(spec.src, spec.dst);
    std::swap(sent.src, sent.dst);
    const uint32_t router = kInside + static_cast<uint32_t>(rng() % kHosts);
    const Outcome out = run_one(*nf, build_icmp_error(router, type, build_frame(spec), bytes));
    ASSERT_EQ(out.reason, "");
    ASSERT_EQ(out.frame, build_icmp_error(outside_of(router), type, build_frame(sent), bytes));
  }
}

TEST(StaticNat, GivesTheReasonForEachDrop) {
  const auto nf = make_nf("static-nat", config());
  const auto reason = [&](auto&& change, Direction in = Direction::kForward) {
    FrameSpec spec;
    spec.src = kInside + 1;
    change(spec);
    return run_one(*nf, build_frame(spec), in).reason;
  };
  EXPECT_EQ(reason([](FrameSpec&) {}), "");
  EXPECT_EQ(reason([](FrameSpec& s) { s.src = kOutside; }), "no_mapping");
  EXPECT_EQ(reason([](FrameSpec& s) { s.dst = kOutside + kHosts; }, Direction::kReturn), "no_mapping");
  for (const uint8_t proto : {33, 51, 136}) EXPECT_EQ(reason([&](FrameSpec& s) { s.proto = proto; }), "unsupported");
  EXPECT_EQ(reason([](FrameSpec& s) {
              s.ip_version = 6;
              s.extensions = {{kHopByHop}, {kAuthentication, 3}};
            }),
            "unsupported")
      << "of IPv6 it is an extension header";
  EXPECT_EQ(run_one(*nf, Frame(5)).reason, "malformed");
  FrameSpec quoted;
  quoted.dst = kInside + 1;
  EXPECT_EQ(run_one(*nf, build_icmp_error(kInside + 1, 3, build_frame(quoted), 4)).reason, "unsupported");
  quoted.dst = kOutside;
  EXPECT_EQ(run_one(*nf, build_icmp_error(kInside + 1, 3, build_frame(quoted), 8)).reason, "no_mapping");
}

// The checksum is over the last address of the routing header, which nothing here translates.
TEST(StaticNat, TranslatesNoDestinationFromWhichARoutingHeaderLeadsOn) {
  const auto nf = make_nf("static-nat", config());
  FrameSpec spec;
  spec.ip_version = 6;
  spec.src = kInside + 1;
  spec.dst = outside_of(kInside + 2);
  spec.extensions = {{kHopByHop}, {.type = kRouting, .units = 3, .segments_left = 1}};
  const Frame frame = build_frame(spec);
  EXPECT_EQ(run_one(*nf, frame, Direction::kReturn).reason, "unsupported");
  EXPECT_EQ(run_one(*nf, frame, Direction::kReturn).frame, frame);
  FrameSpec sent = spec;
  sent.src = outside_of(spec.src);
  EXPECT_EQ(run_one(*nf, frame).frame, build_frame(sent)) << "a source may be translated";
  spec.extensions.back().segments_left = 0;
  EXPECT_EQ(run_one(*nf, build_frame(spec), Direction::kReturn).reason, "");
}

TEST(StaticNat, MappingsWithoutAnOutsideGetTheLowestThatIsLeft) {
  const auto nf =
      make_nf("static-nat", {{"external_addresses", {"198.18.0.9", "2001:db8::9", "198.18.0.3", "198.18.0.5"}},
                             {"mappings",
                              {{{"inside", "10.0.0.1"}},
                               {{"inside", "2001:db8::1"}},
                               {{"inside", "10.0.0.2"}, {"outside", "198.18.0.3"}},
                               {{"inside", "10.0.0.3"}}}}});
  const json state = nf->state(10);
  std::vector<std::string> outside;
  for (const json& row : state["mappings"]) outside.push_back(row["outside"]);
  EXPECT_EQ(outside, (std::vector<std::string>{"198.18.0.5", "2001:db8::9", "198.18.0.3", "198.18.0.9"}));
}

TEST(StaticNat, CountsByMappingUntilTheMappingsChange) {
  const auto nf = make_nf("static-nat", config());
  FrameSpec spec;
  spec.src = kInside + 3;
  run_one(*nf, build_frame(spec));
  spec.dst = outside_of(kInside + 3);
  run_one(*nf, build_frame(spec), Direction::kReturn);
  run_one(*nf, build_frame(spec), Direction::kReturn);
  nf->configure(config({{"unmapped", "pass"}}));
  EXPECT_EQ(nf->state(10)["mappings"][3]["forward"], 1);
  EXPECT_EQ(nf->state(10)["mappings"][3]["return"], 2);
  nf->configure({{"external_addresses", {"198.18.0.1"}}, {"mappings", {{{"inside", "10.0.0.3"}}}}});
  EXPECT_EQ(nf->state(10)["mappings"][0]["forward"], 0);
  spec.src = kInside + 3;
  run_one(*nf, build_frame(spec));
  EXPECT_EQ(nf->state(10)["mappings"][0]["forward"], 1);
}

TEST(StaticNat, SurvivesWhatIsWrongWithIpv6) {
  Rng rng(3);
  const auto nf = make_nf("static-nat", {{"external_addresses", {"2001:db8::9"}},
                                         {"mappings", {{{"inside", address_text(ipv6_of(FrameSpec{}.src))}}}}});
  const std::vector<Frame> corpus = malformed_ipv6_corpus(rng);
  const auto outcomes = run(*nf, corpus);
  size_t changed = 0;
  for (size_t i = 0; i < corpus.size(); ++i) {
    ASSERT_NE(outcomes[i].reason, "?");
    changed += outcomes[i].frame != corpus[i];
    if (!outcomes[i].verdict.drop) continue;
    ASSERT_EQ(outcomes[i].frame, corpus[i]);
  }
  EXPECT_GT(changed, 1000u);
}

TEST(StaticNat, PointsToWhatIsWrong) {
  const auto error = [](const json& mappings, const json& external = {"198.18.0.1", "198.18.0.2", "2001:db8::9"}) {
    return config_error("static-nat", {{"external_addresses", external}, {"mappings", mappings}});
  };
  const json one = {{"inside", "10.0.0.1"}};
  const auto with = [](const char* inside, const char* outside) {
    return json{{"inside", inside}, {"outside", outside}};
  };
  EXPECT_EQ(error(json::array({one})), "none");
  EXPECT_EQ(error(json::array({with("10.0.0.1", "198.18.0.2")})), "none");
  EXPECT_EQ(error(json::array()), "/mappings");
  EXPECT_EQ(error({{{"inside", "x"}}}), "/mappings/0/inside");
  EXPECT_EQ(error(json::array({json::object()})), "/mappings/0/inside");
  EXPECT_EQ(error(json::array({with("10.0.0.1", "198.18.0.3")})), "/mappings/0/outside");
  EXPECT_EQ(error(json::array({with("10.0.0.1", "2001:db8::9")})), "/mappings/0/outside");
  EXPECT_EQ(error({one, one}), "/mappings/1/inside");
  EXPECT_EQ(error({with("10.0.0.1", "198.18.0.1"), with("10.0.0.2", "198.18.0.1")}), "/mappings/1/outside");
  EXPECT_EQ(error({one, with("10.0.0.2", "198.18.0.1"), {{"inside", "10.0.0.3"}}}), "/mappings/2");
  EXPECT_EQ(error(json::array({one}), {"2001:db8::9"}), "/mappings/0");
  EXPECT_EQ(error(json::array({one}), {"198.18.0.1", "198.18.0.1"}), "/external_addresses/1");
  EXPECT_EQ(error(json::array({one}), {"198.18.0.1", 5}), "/external_addresses/1");
  EXPECT_EQ(error({{{"inside", "10.0.0.1"}, {"zz", 1}}}), "/mappings/0/zz");
}

}  // namespace
}  // namespace orrery::static_nat
