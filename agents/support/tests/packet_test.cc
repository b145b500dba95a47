// SPDX-License-Identifier: Apache-2.0
#include "support/packet.h"

#include <gtest/gtest.h>

#include "support/checksum.h"
#include "support/testing/frames.h"

namespace orrery {
namespace {

using namespace orrery::testing;

TEST(ParsePacket, FindsEveryHeaderOfRandomPackets) {
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const FrameSpec spec = random_spec(rng);
    const Frame frame = build_frame(spec);
    const ParsedPacket p = parse_packet(frame);
    ASSERT_EQ(p.kind, PacketKind::kIpTransport);
    EXPECT_FALSE(p.fragment);
    EXPECT_EQ(p.ip_src, spec.src);
    EXPECT_EQ(p.ip_dst, spec.dst);
    EXPECT_EQ(p.ip_proto, spec.proto);
    EXPECT_EQ(p.src_port, spec.proto == kIcmp ? 0 : spec.src_port);
    EXPECT_EQ(p.dst_port, spec.proto == kIcmp ? 0 : spec.dst_port);
    EXPECT_EQ(p.l3_offset, spec.vlan ? 18 : 14);
    EXPECT_EQ(p.l4_offset, p.l3_offset + 20 + 4 * spec.ip_option_words);
    EXPECT_EQ(std::string(frame.begin() + p.payload_offset, frame.begin() + p.payload_offset + p.payload_length),
              spec.payload);
    EXPECT_TRUE(checksums_hold(frame));
  }
}

TEST(ParsePacket, TellsFragmentsApart) {
  FrameSpec spec;
  spec.more_fragments = true;
  ParsedPacket p = parse_packet(build_frame(spec));
  EXPECT_EQ(p.kind, PacketKind::kIpTransport);
  EXPECT_TRUE(p.fragment);
  spec.fragment_offset = 3;
  p = parse_packet(build_frame(spec));
  EXPECT_EQ(p.kind, PacketKind::kIpOther);
  EXPECT_TRUE(p.fragment);
  EXPECT_EQ(p.src_port, 0);
  EXPECT_EQ(p.payload_length, spec.payload.size());
  spec.fragment_offset = 0x1fff;
  EXPECT_EQ(parse_packet(build_frame(spec)).kind, PacketKind::kMalformed) << "ends beyond 65535";
}

TEST(ParsePacket, AFirstFragmentMayCarryTheLengthOfTheWholeDatagram) {
  FrameSpec spec;
  spec.proto = kUdp;
  spec.more_fragments = true;
  Frame frame = build_frame(spec);
  store_be16(&frame[14 + 20 + 4], 4000);
  EXPECT_EQ(parse_packet(frame).kind, PacketKind::kIpTransport);
  store_be16(&frame[14 + 6], 0);  // not a fragment
  EXPECT_EQ(parse_packet(frame).kind, PacketKind::kMalformed);
}

TEST(ParsePacket, OtherProtocolsHaveNoPorts) {
  FrameSpec spec;
  spec.proto = kGre;
  const ParsedPacket p = parse_packet(build_frame(spec));
  EXPECT_EQ(p.kind, PacketKind::kIpOther);
  EXPECT_FALSE(p.fragment);
  EXPECT_EQ(p.payload_length, spec.payload.size());
  EXPECT_EQ(parse_packet(arp_frame()).kind, PacketKind::kNonIp);
}

TEST(ParsePacket, TruncationIsMalformedAndPaddingIsNot) {
  FrameSpec spec;
  spec.padding = 10;
  const Frame frame = build_frame(spec);
  const size_t end = frame.size() - spec.padding;
  for (size_t n = 0; n <= frame.size(); ++n) {
    const Frame cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(n));
    EXPECT_EQ(parse_packet(cut).kind, n < end ? PacketKind::kMalformed : PacketKind::kIpTransport) << n;
  }
}

TEST(ParsePacket, WhatItFindsLiesWithinTheFrame) {
  Rng rng(2);
  size_t seen[4] = {};
  for (const Frame& frame : malformed_corpus(rng)) {
    const ParsedPacket p = parse_packet(frame);
    ++seen[static_cast<size_t>(p.kind)];
    if (p.kind == PacketKind::kMalformed) continue;
    ASSERT_LE(p.l3_offset, p.l4_offset);
    ASSERT_LE(p.l4_offset, p.payload_offset);
    ASSERT_LE(size_t{p.payload_offset} + p.payload_length, frame.size());
  }
  for (size_t count : seen) EXPECT_GT(count, 50u);
}

TEST(Checksum, IncrementalUpdateEqualsFullComputation) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    uint8_t bytes[24];
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng() % 5 == 0 ? 0xff : rng() % 5 == 0 ? 0 : rng());
    bytes[0] = 0x45;  // as in every header, some word is not zero
    store_be16(bytes + 10, 0);
    store_be16(bytes + 10, checksum(bytes));
    ChecksumDelta delta;
    const auto word = static_cast<uint16_t>(rng() % 4 == 0 ? 0 : rng());
    const auto wide = static_cast<uint32_t>(rng() % 4 == 0 ? 0xffffffff : rng());
    delta.change16(load_be16(bytes + 2), word);
    delta.change32(load_be32(bytes + 16), wide);
    store_be16(bytes + 2, word);
    store_be32(bytes + 16, wide);
    const uint16_t updated = delta.apply(load_be16(bytes + 10));
    store_be16(bytes + 10, 0);
    ASSERT_EQ(updated, checksum(bytes));
  }
}

TEST(Checksum, OddLengthIsPaddedWithZero) {
  const uint8_t odd[] = {0x12, 0x34, 0x56};
  const uint8_t even[] = {0x12, 0x34, 0x56, 0x00};
  EXPECT_EQ(checksum(odd), checksum(even));
}

}  // namespace
}  // namespace orrery
