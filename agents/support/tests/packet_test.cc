// SPDX-License-Identifier: Apache-2.0
#include "support/packet.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/checksum.h"
#include "support/testing/frames.h"
#include "support/testing/packet_reference.h"

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

TEST(ParsePacket, FindsEveryHeaderOfRandomIpv6Packets) {
  Rng rng(4);
  for (int i = 0; i < 5000; ++i) {
    const FrameSpec spec = random_ipv6_spec(rng);
    const Frame frame = build_frame(spec);
    const ParsedPacket p = parse_packet(frame);
    ASSERT_EQ(p.kind, PacketKind::kIpTransport);
    EXPECT_EQ(p.ip_version, 6);
    EXPECT_FALSE(p.fragment) << "an atomic fragment is whole";
    EXPECT_EQ(p.ipv6_src, ipv6_of(spec.src));
    EXPECT_EQ(p.ipv6_dst, ipv6_of(spec.dst));
    EXPECT_EQ(p.ip_src, 0u);
    EXPECT_EQ(p.ip_proto, spec.proto);
    EXPECT_EQ(p.src_port, spec.proto == kIcmpv6 ? 0 : spec.src_port);
    EXPECT_EQ(p.dst_port, spec.proto == kIcmpv6 ? 0 : spec.dst_port);
    EXPECT_EQ(p.l3_offset, 14 + 4 * spec.vlan + 4 * spec.service_vlan);
    size_t extension_bytes = 0, fragment_header_at = 0;
    for (const ExtensionHeader& extension : spec.extensions) {
      if (extension.type == kFragmentHeader) fragment_header_at = p.l3_offset + 40 + extension_bytes;
      extension_bytes += size_t{extension.units} * 8;
    }
    EXPECT_EQ(p.l4_offset, p.l3_offset + 40 + extension_bytes);
    EXPECT_EQ(p.fragment_header_offset, fragment_header_at);
    EXPECT_EQ(p.ip_length(), frame.size() - p.l3_offset - spec.padding);
    EXPECT_EQ(std::string(frame.begin() + p.payload_offset, frame.begin() + p.payload_offset + p.payload_length),
              spec.payload);
    EXPECT_TRUE(checksums_hold(frame));
  }
}

TEST(ParsePacket, AgreesWithAPlainReadingOfEveryFrame) {
  Rng rng(5);
  std::vector<Frame> frames = malformed_corpus(rng);
  for (Frame& frame : malformed_ipv6_corpus(rng)) frames.push_back(std::move(frame));
  for (int i = 0; i < 4000; ++i) {
    Frame frame = build_frame(i % 3 == 0 ? random_spec(rng) : random_ipv6_spec(rng));
    if (i % 2 == 0) frame.resize(rng() % (frame.size() + 1));
    if (i % 4 == 1) frame[rng() % frame.size()] ^= static_cast<uint8_t>(1 + rng() % 255);
    frames.push_back(std::move(frame));
  }
  size_t seen[2][4] = {};
  for (const Frame& frame : frames) {
    const auto exact = std::make_unique<uint8_t[]>(frame.size());  // of exactly its size: reads beyond it are found
    std::copy(frame.begin(), frame.end(), exact.get());
    const ParsedPacket p = parse_packet({exact.get(), frame.size()});
    ASSERT_EQ(difference(p, reference_parse(frame)), "") << ::testing::PrintToString(frame);
    ++seen[p.ip_version == 6][static_cast<size_t>(p.kind)];
    if (p.kind == PacketKind::kMalformed) continue;
    ASSERT_LE(p.l3_offset, p.l4_offset);
    ASSERT_LE(p.l4_offset, p.payload_offset);
    ASSERT_LE(size_t{p.payload_offset} + p.payload_length, frame.size());
  }
  for (size_t kind : {0, 1, 2, 3}) EXPECT_GT(seen[0][kind], 200u) << kind;
  for (size_t kind : {0, 2, 3}) EXPECT_GT(seen[1][kind], 200u) << kind;
}

FrameSpec ipv6_spec(std::vector<ExtensionHeader> extensions = {}, uint8_t proto = kTcp) {
  FrameSpec spec;
  spec.ip_version = 6;
  spec.extensions = std::move(extensions);
  spec.proto = proto;
  return spec;
}

TEST(ParsePacket, TellsIpv6FragmentsApart) {
  FrameSpec spec = ipv6_spec({{kDestinationOptions}});
  spec.payload = "0123456789ab";  // with the TCP header whole octets of bytes
  spec.more_fragments = true;
  ParsedPacket p = parse_packet(build_frame(spec));
  EXPECT_EQ(p.kind, PacketKind::kIpTransport);
  EXPECT_TRUE(p.fragment);
  EXPECT_EQ(p.fragment_header_offset, 14 + 40 + 8);
  EXPECT_EQ(p.dst_port, 80);
  spec.payload += 'c';
  EXPECT_EQ(parse_packet(build_frame(spec)).kind, PacketKind::kMalformed) << "not a whole number of 8 bytes";
  spec.more_fragments = false;
  spec.fragment_offset = 3;
  p = parse_packet(build_frame(spec));
  EXPECT_EQ(p.kind, PacketKind::kIpOther);
  EXPECT_TRUE(p.fragment);
  EXPECT_EQ(p.ip_proto, kTcp);
  EXPECT_EQ(p.src_port, 0);
  EXPECT_EQ(p.payload_length, spec.payload.size());
  spec.fragment_offset = 0x1fff;
  EXPECT_EQ(parse_packet(build_frame(spec)).kind, PacketKind::kMalformed) << "ends beyond 65535";
}

TEST(ParsePacket, AnUpperLayerThatCannotBeReadStopsTheChain) {
  for (uint8_t proto : {kEsp, kNoNextHeader, kGre, kIcmp}) {
    const ParsedPacket p = parse_packet(build_frame(ipv6_spec({{kHopByHop}, {kRouting, 3}}, proto)));
    EXPECT_EQ(p.kind, PacketKind::kIpOther);
    EXPECT_EQ(p.ip_proto, proto);
    EXPECT_EQ(p.l4_offset, 14 + 40 + 8 + 24);
    EXPECT_EQ(p.src_port, 0);
  }
}

TEST(ParsePacket, BoundsTheChainOfExtensionHeaders) {
  const auto kind_of = [](std::vector<ExtensionHeader> chain) {
    return parse_packet(build_frame(ipv6_spec(std::move(chain)))).kind;
  };
  const ExtensionHeader options{kDestinationOptions};
  EXPECT_EQ(kind_of(std::vector(kMaxExtensionHeaders, options)), PacketKind::kIpTransport);
  EXPECT_EQ(kind_of(std::vector(kMaxExtensionHeaders + 1, options)), PacketKind::kMalformed);
  EXPECT_EQ(kind_of({{kDestinationOptions, 255}, {kDestinationOptions, 1}}), PacketKind::kIpTransport);
  EXPECT_EQ(kind_of({{kDestinationOptions, 255}, {kDestinationOptions, 2}}), PacketKind::kMalformed);
  EXPECT_EQ(kind_of({options, {kHopByHop}}), PacketKind::kMalformed) << "only the first may be hop-by-hop";
  EXPECT_EQ(kind_of({{kFragmentHeader}, {kFragmentHeader}}), PacketKind::kMalformed);
}

TEST(ParsePacket, AnEmptyIpv6PacketIsOneAndAJumbogramIsNot) {
  FrameSpec spec = ipv6_spec({}, kNoNextHeader);
  spec.payload.clear();
  spec.padding = 6;
  EXPECT_EQ(parse_packet(build_frame(spec)).kind, PacketKind::kIpOther);
  Frame jumbo = build_frame(ipv6_spec({{kHopByHop}}));
  store_be16(&jumbo[14 + 4], 0);
  EXPECT_EQ(parse_packet(jumbo).kind, PacketKind::kMalformed);
}

TEST(ParsePacket, NoIpv6HeaderHasAnIpv4MappedAddress) {
  for (size_t at : {14 + 8, 14 + 24}) {
    Frame frame = build_frame(ipv6_spec());
    store_be64(&frame[at], 0);
    store_be32(&frame[at + 8], 0xffff);
    EXPECT_EQ(parse_packet(frame).kind, PacketKind::kMalformed);
    frame[at + 9] = 1;
    EXPECT_EQ(parse_packet(frame).kind, PacketKind::kIpTransport);
  }
}

TEST(ParsePacket, SkipsUpToTwoTags) {
  FrameSpec spec;
  for (const bool service : {false, true}) {
    for (const bool customer : {false, true}) {
      spec.service_vlan = service;
      spec.vlan = customer;
      const ParsedPacket p = parse_packet(build_frame(spec));
      EXPECT_EQ(p.kind, PacketKind::kIpTransport);
      EXPECT_EQ(p.l3_offset, 14 + 4 * service + 4 * customer);
    }
  }
  Frame three = build_frame(spec);
  three.insert(three.begin() + 12, {0x81, 0x00, 0, 1});
  EXPECT_EQ(parse_packet(three).kind, PacketKind::kNonIp);
}

TEST(ParsePacket, Ipv6TruncationIsMalformedAndPaddingIsNot) {
  FrameSpec spec = ipv6_spec({{kHopByHop}, {kRouting, 2}, {kFragmentHeader}, {kAuthentication, 2}}, kUdp);
  spec.padding = 10;
  const Frame frame = build_frame(spec);
  const size_t end = frame.size() - spec.padding;
  for (size_t n = 0; n <= frame.size(); ++n) {
    const Frame cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(n));
    EXPECT_EQ(parse_packet(cut).kind, n < end ? PacketKind::kMalformed : PacketKind::kIpTransport) << n;
  }
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
