// SPDX-License-Identifier: Apache-2.0
#include "nfs/translation/translate.h"

#include <gtest/gtest.h>

#include "support/testing/frames.h"

namespace orrery {
namespace {

using namespace orrery::testing;

FrameSpec any_spec(Rng& rng) {
  return rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
}

Endpoint endpoint(const FrameSpec& spec, uint32_t address, uint16_t port) {
  return {spec.ip_version == 6 ? ipv6_of(address) : ipv4_mapped(address), port};
}

NfPacket packet_of(Frame& frame) {
  return {frame.data(), static_cast<uint32_t>(frame.size()), parse_packet(frame), 0};
}

// Both ends of a packet become others.
FrameSpec other_ends(FrameSpec spec, Rng& rng) {
  spec.src = static_cast<uint32_t>(rng());
  spec.dst = static_cast<uint32_t>(rng());
  spec.src_port = static_cast<uint16_t>(rng());
  spec.dst_port = static_cast<uint16_t>(rng());
  return spec;
}

bool has_identifier(const FrameSpec& spec) {
  return spec.proto == kIcmp || spec.proto == kIcmpv6;
}

TEST(Translate, APacketIsAsIfItHadBeenMadeWithItsNewEnds) {
  Rng rng(1);
  for (int i = 0; i < 6000; ++i) {
    const FrameSpec spec = any_spec(rng), wanted = other_ends(spec, rng);
    Frame frame = build_frame(spec);
    NfPacket packet = packet_of(frame);
    ASSERT_EQ(packet.parsed.kind, PacketKind::kIpTransport);
    rewrite_endpoint(packet, Side::kSource, endpoint(spec, wanted.src, wanted.src_port));
    const uint16_t dst_port = has_identifier(spec) ? wanted.src_port : wanted.dst_port;
    rewrite_endpoint(packet, Side::kDestination, endpoint(spec, wanted.dst, dst_port));
    ASSERT_EQ(frame, build_frame(wanted));
    const ParsedPacket p = parse_packet(frame);
    EXPECT_EQ(packet.parsed.ip_src, p.ip_src);
    EXPECT_EQ(packet.parsed.ip_dst, p.ip_dst);
    EXPECT_EQ(packet.parsed.src_port, p.src_port);
    EXPECT_EQ(packet.parsed.dst_port, p.dst_port);
    if (spec.ip_version == 6) {
      EXPECT_EQ(packet.parsed.ipv6_src, p.ipv6_src);
      EXPECT_EQ(packet.parsed.ipv6_dst, p.ipv6_dst);
    }
  }
}

TEST(Translate, AnAddressIsReplacedInWhateverIsIp) {
  Rng rng(2);
  for (int i = 0; i < 6000; ++i) {
    FrameSpec spec = any_spec(rng);
    if (rng() % 3 == 0) spec.proto = kGre;
    if (rng() % 3 == 0) {
      spec.payload.resize(spec.payload.size() / 8 * 8 + 8);
      spec.fragment_offset = static_cast<uint16_t>(1 + rng() % 100);
    }
    FrameSpec wanted = spec;
    wanted.src = static_cast<uint32_t>(rng());
    wanted.dst = static_cast<uint32_t>(rng());
    Frame frame = build_frame(spec);
    NfPacket packet = packet_of(frame);
    ASSERT_NE(packet.parsed.kind, PacketKind::kMalformed);
    rewrite_address(packet, Side::kSource, endpoint(spec, wanted.src, 0).address);
    rewrite_address(packet, Side::kDestination, endpoint(spec, wanted.dst, 0).address);
    ASSERT_EQ(frame, build_frame(wanted));
  }
}

TEST(Translate, AnIcmpErrorIsAsIfItQuotedThePacketWithItsNewEnds) {
  Rng rng(3);
  for (int i = 0; i < 6000; ++i) {
    FrameSpec spec = any_spec(rng);
    spec.vlan = spec.service_vlan = false;
    spec.padding = 0;
    std::erase_if(spec.extensions, [](const ExtensionHeader& it) { return it.type == kAuthentication; });
    FrameSpec wanted = other_ends(spec, rng);
    if (has_identifier(spec)) wanted.dst_port = wanted.src_port;
    size_t bytes = 8 + rng() % 60;
    if (bytes == 17) ++bytes;  // half a TCP checksum cannot be translated
    const uint8_t type = spec.ip_version == 6 ? 1 : 3;
    Frame frame = build_icmp_error(0x01010101, type, build_frame(spec), bytes);
    NfPacket packet = packet_of(frame);
    const auto quoted = quoted_packet(packet);
    ASSERT_TRUE(quoted.has_value());
    EXPECT_EQ(quoted->source.address, endpoint(spec, spec.src, 0).address);
    EXPECT_EQ(quoted->destination.address, endpoint(spec, spec.dst, 0).address);
    EXPECT_EQ(quoted->source.port, spec.src_port);
    EXPECT_EQ(quoted->destination.port, has_identifier(spec) ? spec.src_port : spec.dst_port);
    rewrite_icmp_error(packet, *quoted, Side::kDestination, endpoint(spec, wanted.src, wanted.src_port));
    rewrite_quoted(packet, *quoted, Side::kDestination, endpoint(spec, wanted.dst, wanted.dst_port));
    ASSERT_EQ(frame, build_icmp_error(0x01010101, type, build_frame(wanted), bytes));
  }
}

TEST(Translate, WhatIsQuotedWithoutPortsIsNotKnown) {
  FrameSpec spec;
  for (const uint8_t version : {4, 6}) {
    spec.ip_version = version;
    const auto quoted = [&](size_t bytes) {
      Frame frame = build_icmp_error(1, version == 6 ? 1 : 3, build_frame(spec), bytes);
      return quoted_packet(packet_of(frame)).has_value();
    };
    spec.proto = kTcp;
    EXPECT_TRUE(quoted(8));
    EXPECT_FALSE(quoted(7));
    spec.proto = kGre;
    EXPECT_FALSE(quoted(30));
    spec.proto = kTcp;
    spec.fragment_offset = 4;
    EXPECT_FALSE(quoted(30));
    spec.fragment_offset = 0;
  }
}

}  // namespace
}  // namespace orrery
