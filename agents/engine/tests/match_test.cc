// SPDX-License-Identifier: Apache-2.0
#include "nfs/match.h"

#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace orrery {
namespace {

using nlohmann::json;

bool matches_json(const json& terms, const testing::Frame& frame, uint16_t metadata = 0) {
  return matches(parse_match(terms, ""), parse_packet(frame), metadata);
}

testing::FrameSpec web() {
  return {.src = 0x0a010203, .dst = 0xc0a80001, .src_port = 4000, .dst_port = 80};
}

TEST(Match, AnEmptyConjunctionMatchesEverything) {
  EXPECT_TRUE(matches_json(json::array(), testing::build_frame(web())));
  EXPECT_TRUE(matches_json(json::array(), testing::Frame{1, 2, 3}));
}

TEST(Match, EachFieldHoldsAndItsNegationDoesNot) {
  const testing::Frame frame = testing::build_frame(web());
  const std::vector<std::pair<const char*, bool>> terms = {
      {R"({"field":"ip.src","prefix":"10.0.0.0/8"})", true},
      {R"({"field":"ip.src","prefix":"10.1.2.3"})", true},
      {R"({"field":"ip.src","prefix":"10.1.2.2"})", false},
      {R"({"field":"ip.src","prefix":"0.0.0.0/0"})", true},
      {R"({"field":"ip.dst","prefix":"192.168.0.0/31"})", true},
      {R"({"field":"ip.dst","prefix":"192.168.0.2/31"})", false},
      {R"({"field":"ip.proto","value":6})", true},
      {R"({"field":"ip.proto","value":17})", false},
      {R"({"field":"port.src","lo":4000,"hi":4000})", true},
      {R"({"field":"port.src","lo":4001,"hi":65535})", false},
      {R"({"field":"port.dst","lo":0,"hi":80})", true},
      {R"({"field":"port.dst","lo":0,"hi":79})", false},
      {R"({"field":"metadata","offset":4,"width":2,"value":2})", true},
      {R"({"field":"metadata","offset":4,"width":2,"value":1})", false},
      {R"({"field":"metadata","offset":0,"width":16,"value":65519})", true},
  };
  for (const auto& [text, expected] : terms) {
    json term = json::parse(text);
    EXPECT_EQ(matches_json(json::array({term}), frame, 0xffef), expected) << text;
    term["not"] = true;
    EXPECT_EQ(matches_json(json::array({term}), frame, 0xffef), !expected) << "not " << text;
  }
}

TEST(Match, AllTermsMustHold) {
  const json yes = json::parse(R"({"field":"ip.proto","value":6})");
  const json no = json::parse(R"({"field":"port.dst","lo":81,"hi":81})");
  const testing::Frame frame = testing::build_frame(web());
  EXPECT_TRUE(matches_json(json::array({yes, yes}), frame));
  EXPECT_FALSE(matches_json(json::array({yes, no}), frame));
  EXPECT_FALSE(matches_json(json::array({no, yes}), frame));
}

// A fragment behind the first, ICMP, ARP and rubbish have no ports; the last two no addresses either.
TEST(Match, AFieldThatThePacketLacksDoesNotHold) {
  const json any_port = json::parse(R"([{"field":"port.dst","lo":0,"hi":65535}])");
  const json any_address = json::parse(R"([{"field":"ip.dst","prefix":"0.0.0.0/0"}])");
  const json no_port = json::parse(R"([{"field":"port.dst","lo":0,"hi":65535,"not":true}])");
  testing::FrameSpec fragment = web();
  fragment.fragment_offset = 100;
  testing::FrameSpec icmp = web();
  icmp.proto = testing::kIcmp;
  const testing::Frame arp = testing::arp_frame();
  const testing::Frame rubbish(7, 0xff);
  for (const testing::Frame& frame : {testing::build_frame(fragment), testing::build_frame(icmp), arp, rubbish}) {
    EXPECT_FALSE(matches_json(any_port, frame));
    EXPECT_TRUE(matches_json(no_port, frame));
  }
  EXPECT_TRUE(matches_json(any_address, testing::build_frame(fragment)));
  EXPECT_FALSE(matches_json(any_address, arp));
  EXPECT_FALSE(matches_json(any_address, rubbish));
}

testing::FrameSpec web_over_ipv6() {
  testing::FrameSpec spec = testing::over_ipv6(web());
  spec.extensions = {{testing::kHopByHop}, {testing::kDestinationOptions, 2}};
  return spec;
}

TEST(Match, EachFieldHoldsOfIpv6AndItsNegationDoesNot) {
  const testing::Frame frame = testing::build_frame(web_over_ipv6());
  const std::vector<std::pair<const char*, bool>> terms = {
      {R"({"field":"ip.src","prefix":"2001:db8::/32"})", true},
      {R"({"field":"ip.src","prefix":"2001:db8::a01:203"})", true},
      {R"({"field":"ip.src","prefix":"2001:db8::a01:202"})", false},
      {R"({"field":"ip.src","prefix":"2001:db8::a01:202/127"})", true},
      {R"({"field":"ip.src","prefix":"::/0"})", true},
      {R"({"field":"ip.dst","prefix":"2001:db8::c0a8:1"})", true},
      {R"({"field":"ip.dst","prefix":"2001:db9::/32"})", false},
      {R"({"field":"ip.src","prefix":"0.0.0.0/0"})", false},
      {R"({"field":"ip.dst","prefix":"0.0.0.0/0"})", false},
      {R"({"field":"ip.proto","value":6})", true},
      {R"({"field":"ip.proto","value":0})", false},
      {R"({"field":"port.src","lo":4000,"hi":4000})", true},
      {R"({"field":"port.dst","lo":81,"hi":65535})", false},
  };
  for (const auto& [text, expected] : terms) {
    json term = json::parse(text);
    EXPECT_EQ(matches_json(json::array({term}), frame), expected) << text;
    term["not"] = true;
    EXPECT_EQ(matches_json(json::array({term}), frame), !expected) << "not " << text;
  }
  const json any_ipv6 = json::parse(R"([{"field":"ip.src","prefix":"::/0"}])");
  EXPECT_FALSE(matches_json(any_ipv6, testing::build_frame(web())));
  EXPECT_FALSE(matches_json(any_ipv6, testing::arp_frame()));
}

TEST(Match, OfIpv6OnlyTcpAndUdpHavePortsAndNoLaterFragment) {
  const json any_port = json::parse(R"([{"field":"port.dst","lo":0,"hi":65535}])");
  const json udp = json::parse(R"([{"field":"ip.proto","value":17}])");
  testing::FrameSpec spec = web_over_ipv6();
  spec.proto = testing::kUdp;
  EXPECT_TRUE(matches_json(any_port, testing::build_frame(spec)));
  spec.fragment_offset = 100;
  EXPECT_FALSE(matches_json(any_port, testing::build_frame(spec)));
  EXPECT_TRUE(matches_json(udp, testing::build_frame(spec)));
  spec.fragment_offset = 0;
  spec.proto = testing::kIcmpv6;
  EXPECT_FALSE(matches_json(any_port, testing::build_frame(spec)));
}

TEST(Match, RefusesWhatTheContractDoesNotKnow) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"([{"field":"ip.src","prefix":"10.0.0.0/33"}])", "/0/prefix"},
      {R"([{"field":"ip.src","prefix":"10.0.0"}])", "/0/prefix"},
      {R"([{"field":"ip.src"}])", "/0/prefix"},
      {R"([{"field":"ip.src","prefix":"2001:db8::/129"}])", "/0/prefix"},
      {R"([{"field":"ip.dst","prefix":"::ffff:10.0.0.0/104"}])", "/0/prefix"},
      {R"([{"field":"ip.proto","value":256}])", "/0/value"},
      {R"([{"field":"ip.proto","value":"tcp"}])", "/0/value"},
      {R"([{"field":"port.src","lo":5,"hi":4}])", "/0/hi"},
      {R"([{"field":"port.src","lo":-1,"hi":4}])", "/0/lo"},
      {R"([{"field":"metadata","offset":15,"width":2,"value":1}])", "/0/width"},
      {R"([{"field":"metadata","offset":0,"width":2,"value":4}])", "/0/value"},
      {R"([{"field":"ip.ttl","value":4}])", "/0/field"},
      {R"([{"field":"ip.proto","value":6},{"field":"ip.proto","value":6,"x":1}])", "/1/x"},
      {R"([{"field":"ip.proto","value":6,"not":1}])", "/0/not"},
      {R"([3])", "/0"},
  };
  for (const auto& [text, pointer] : cases)
    EXPECT_EQ(testing::refusal([&, t = text] { parse_match(json::parse(t), ""); }),
              std::string("invalid-config ") + pointer)
        << text;
}

}  // namespace
}  // namespace orrery
