// SPDX-License-Identifier: Apache-2.0
// Flow state over hand-overs and changes of the configuration.
#include <gtest/gtest.h>

#include "network.h"
#include "nf_process.h"
#include "nfs/testing/tcp_frames.h"
#include "support/hop_tag.h"

namespace orrery::container_nf::testing {
namespace {

using namespace orrery::testing;
using nlohmann::json;
using orrery::testing::Frame;

constexpr uint8_t kSynAck = kTcpSyn | kTcpAck;

Frame tagged(Frame frame) {
  write_hop_tag(frame.data(), {0xffff, 0}, 1);
  return frame;
}

Frame segment(const FrameSpec& spec, uint8_t flags) {
  return tagged(tcp_frame(spec, flags));
}

uint16_t metadata_of(const Frame& frame) {
  HopTag tag{};
  read_hop_tag(frame.data(), tag);
  return tag.metadata;
}

class ContainerNfState : public ::testing::Test {
 protected:
  // What becomes of one frame: it leaves, or an empty one for a drop.
  Frame through(ContainerNf& nf, const Frame& frame, Direction in = Direction::kForward) {
    const uint64_t before = frames_in(nf.call("stats"));
    network_.send({frame}, in);
    const json stats = nf.await_frames(before + 1);
    const json& side = stats[in == Direction::kForward ? "forward" : "return"];
    uint64_t& out = out_[{nf.program().pid(), in}];
    if (side["packets_out"] == out) return {};
    out = side["packets_out"];
    return network_.receive(1, in).at(0);
  }

  void open_connection(ContainerNf& nf, const FrameSpec& spec) {
    ASSERT_FALSE(through(nf, segment(spec, kTcpSyn)).empty());
    ASSERT_FALSE(through(nf, segment(reply_of(spec), kSynAck), Direction::kReturn).empty());
    ASSERT_FALSE(through(nf, segment(spec, kTcpAck)).empty());
  }

  Network network_;
  std::map<std::pair<pid_t, Direction>, uint64_t> out_;
};

TEST_F(ContainerNfState, ConnectionsOfAFirewallGoOnInAnotherContainer) {
  const FrameSpec spec{.dst_port = 443};
  json state;
  {
    ContainerNf first("stateful-firewall", json::object());
    open_connection(first, spec);
    state = first.call("export_state");
  }
  ContainerNf second("stateful-firewall", json::object());
  EXPECT_TRUE(through(second, segment(spec, kTcpAck)).empty()) << "of no known connection";
  second.call("import_state", {{"state", state}});
  EXPECT_FALSE(through(second, segment(spec, kTcpAck)).empty());
  EXPECT_FALSE(through(second, segment(reply_of(spec), kTcpAck), Direction::kReturn).empty());
  EXPECT_EQ(second.call("get_state", {{"limit", 5}})["flows"].at(0)["state"], "established");
  EXPECT_EQ(second.call("stats")["drops"], json({{"no-state", 1}}));
}

TEST_F(ContainerNfState, AddressesOfANatAreTheSameInAnotherContainer) {
  const json config = json::parse(R"({"external_addresses": ["198.18.0.1"]})");
  const FrameSpec spec{.src_port = 5000, .dst_port = 443};
  json state;
  Frame before;
  {
    ContainerNf first("nat", config);
    // Others before it, so that an NF without state would choose another port.
    for (uint16_t port = 2000; port < 2050; ++port)
      ASSERT_FALSE(through(first, segment({.src_port = port}, kTcpSyn)).empty());
    before = through(first, segment(spec, kTcpSyn));
    state = first.call("export_state");
  }
  ASSERT_FALSE(before.empty());
  ContainerNf second("nat", config);
  second.call("import_state", {{"state", state}});
  EXPECT_EQ(through(second, segment(spec, kTcpSyn)), before);
  const ParsedPacket outside = parse_packet(before);
  FrameSpec reply = reply_of(spec);
  reply.dst = outside.ip_src;
  reply.dst_port = outside.src_port;
  EXPECT_EQ(through(second, segment(reply, kTcpAck), Direction::kReturn), segment(reply_of(spec), kTcpAck));
}

TEST_F(ContainerNfState, ANewConfigurationKeepsConnections) {
  ContainerNf nf("stateful-firewall", json::object());
  const FrameSpec old{.dst_port = 443}, late{.src_port = 9, .dst_port = 443};
  open_connection(nf, old);
  nf.call("configure", json::parse(R"({"config": {"rules": [{"action": "deny", "dst_port": "443"}]}})"));
  EXPECT_FALSE(through(nf, segment(old, kTcpAck)).empty());
  EXPECT_TRUE(through(nf, segment(late, kTcpSyn)).empty());
  EXPECT_EQ(nf.call("stats")["drops"], json({{"denied", 1}}));
}

TEST_F(ContainerNfState, ABadConfigurationIsNamedAndChangesNothing) {
  ContainerNf nf("stateful-firewall", json::parse(R"({"rules": [{"action": "deny", "dst_port": "443"}]})"));
  const FrameSpec open{.dst_port = 80};
  open_connection(nf, open);
  const json before = nf.call("get_state")["rules"];
  for (const auto& [params, refusal] : {
           std::pair{R"({"config": {"max_flows": 0}})", "invalid-config /config/max_flows"},
           {R"({"config": {"rules": [{"action": "perhaps"}]}})", "invalid-config /config/rules/0/action"},
           {R"({"config": {"zz": 1}})", "invalid-config /config/zz"},
           {R"({"config": 1})", "bad-request /config"},
           {R"({})", "bad-request /config"},
           {R"({"config": {}, "nf": "nat"})", "bad-request /nf"},
           {R"({"config": {}, "metadata": {"a": {"offset": 15, "width": 2, "values": {}}}})",
            "bad-request /metadata/a/width"},
           {R"({"config": {"zz": 1}, "metadata": {"a": {"offset": 0, "width": 2, "values": {}}}})",
            "invalid-config /config/zz"},
       })
    EXPECT_EQ(nf.refusal("configure", json::parse(params)), refusal);
  EXPECT_EQ(nf.call("get_state")["rules"], before);
  EXPECT_FALSE(through(nf, segment(open, kTcpAck)).empty());
  EXPECT_TRUE(through(nf, segment({.src_port = 9, .dst_port = 443}, kTcpSyn)).empty());
}

TEST_F(ContainerNfState, NewPlacesOfMetadataKeepFlows) {
  const json config = json::parse(R"({"threshold_bytes": 500, "window_ms": 60000})");
  const auto at = [](int offset) {
    return json{{"size", {{"offset", offset}, {"width", 2}, {"values", {{"mouse", 1}, {"elephant", 2}}}}}};
  };
  ContainerNf nf("elephant-detector", config, at(0));
  const Frame frame = tagged(build_frame({.payload = std::string(300, 'x')}));
  EXPECT_EQ(metadata_of(through(nf, frame)), 1);
  EXPECT_EQ(metadata_of(through(nf, frame)), 2);
  nf.call("configure", {{"config", config}, {"metadata", at(8)}});
  EXPECT_EQ(metadata_of(through(nf, frame)), 2 << 8) << "still an elephant";
}

TEST_F(ContainerNfState, StateThatIsNotTheNfsOwnIsRefused) {
  ContainerNf nf("nat", json::parse(R"({"external_addresses": ["198.18.0.1"]})"));
  EXPECT_EQ(nf.refusal("import_state", {{"state", {{"zz", 1}}}}), "invalid-config /state/zz");
  EXPECT_EQ(nf.refusal("import_state", {{"state", 1}}), "bad-request /state");
  EXPECT_EQ(nf.refusal("get_state", {{"limit", 0}}), "bad-request /limit");
  EXPECT_EQ(nf.refusal("teapot", json::object()), "bad-request ");
}

}  // namespace
}  // namespace orrery::container_nf::testing
