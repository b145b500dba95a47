// SPDX-License-Identifier: Apache-2.0
#include "support/flow_hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace orrery {
namespace {

constexpr FlowKey kAll{true, true, true, true, true};

ParsedPacket random_packet(std::mt19937_64& rng) {
  ParsedPacket p;
  p.kind = PacketKind::kIpTransport;
  p.ip_src = static_cast<uint32_t>(rng());
  p.ip_dst = static_cast<uint32_t>(rng());
  p.ip_proto = static_cast<uint8_t>(rng());
  p.src_port = static_cast<uint16_t>(rng());
  p.dst_port = static_cast<uint16_t>(rng());
  return p;
}

// Chi-square of counts over equal bins; its mean is bins - 1 and its deviation about sqrt(2 bins).
double chi_square(const std::vector<uint32_t>& bins, double total) {
  const double expected = total / static_cast<double>(bins.size());
  double sum = 0;
  for (uint32_t count : bins) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

class FlowHashSpread : public ::testing::TestWithParam<int> {};

// Flows as they occur, with neighbouring addresses or ports, must spread as evenly as random ones.
TEST_P(FlowHashSpread, IsEvenOverStructuredFlows) {
  constexpr int kFlows = 1 << 18;
  constexpr size_t kBins = 256;
  const FlowHash hash(kAll);
  std::vector<uint32_t> high(kBins), low(kBins);
  for (int i = 0; i < kFlows; ++i) {
    ParsedPacket p;
    p.ip_src = 0x0a000001;
    p.ip_dst = 0x0a010001;
    p.ip_proto = 6;
    p.src_port = 1024;
    p.dst_port = 80;
    switch (GetParam()) {
      case 0:
        p.ip_src += static_cast<uint32_t>(i);
        break;
      case 1:
        p.src_port = static_cast<uint16_t>(i);
        p.ip_dst += static_cast<uint32_t>(i >> 16);
        break;
      case 2:
        p.ip_src += static_cast<uint32_t>(i & 511);
        p.ip_dst += static_cast<uint32_t>(i >> 9);
        break;
      default:
        p.ip_src += static_cast<uint32_t>(i) << 8;
        p.src_port = static_cast<uint16_t>(i);
    }
    const uint16_t h = hash(p);
    ++high[h >> 8];
    ++low[h & 255];
  }
  const double limit = kBins + 6 * std::sqrt(2.0 * kBins);
  EXPECT_LT(chi_square(high, kFlows), limit);
  EXPECT_LT(chi_square(low, kFlows), limit);
}

INSTANTIATE_TEST_SUITE_P(Patterns, FlowHashSpread, ::testing::Range(0, 4));

TEST(FlowHash, OneBitOfInputChangesHalfTheOutput) {
  std::mt19937_64 rng(7);
  const FlowHash hash(kAll);
  double flips = 0;
  constexpr int kRounds = 20'000;
  for (int i = 0; i < kRounds; ++i) {
    ParsedPacket p = random_packet(rng);
    const uint16_t before = hash(p);
    const auto bit = static_cast<uint32_t>(rng() % 104);
    if (bit < 32) {
      p.ip_src ^= 1u << bit;
    } else if (bit < 64) {
      p.ip_dst ^= 1u << (bit - 32);
    } else if (bit < 72) {
      p.ip_proto ^= static_cast<uint8_t>(1u << (bit - 64));
    } else if (bit < 88) {
      p.src_port ^= static_cast<uint16_t>(1u << (bit - 72));
    } else {
      p.dst_port ^= static_cast<uint16_t>(1u << (bit - 88));
    }
    flips += std::popcount(static_cast<uint16_t>(before ^ hash(p)));
  }
  EXPECT_NEAR(flips / kRounds, 8.0, 0.15);
}

TEST(FlowHash, DependsOnTheKeyAloneAndOnAllOfIt) {
  std::mt19937_64 rng(3);
  for (int mask = 0; mask < 32; ++mask) {
    const FlowKey key{(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0, (mask & 16) != 0};
    const FlowHash hash(key);
    std::vector<int> differing(5);
    for (int i = 0; i < 200; ++i) {
      const ParsedPacket a = random_packet(rng);
      const ParsedPacket b = random_packet(rng);
      ParsedPacket outside = b;
      if (key.ip_src) outside.ip_src = a.ip_src;
      if (key.ip_dst) outside.ip_dst = a.ip_dst;
      if (key.ip_proto) outside.ip_proto = a.ip_proto;
      if (key.port_src) outside.src_port = a.src_port;
      if (key.port_dst) outside.dst_port = a.dst_port;
      ASSERT_EQ(hash(a), hash(outside)) << "key " << mask;
      ParsedPacket inside[5] = {a, a, a, a, a};
      inside[0].ip_src = ~a.ip_src;
      inside[1].ip_dst = ~a.ip_dst;
      inside[2].ip_proto = static_cast<uint8_t>(~a.ip_proto);
      inside[3].src_port = static_cast<uint16_t>(~a.src_port);
      inside[4].dst_port = static_cast<uint16_t>(~a.dst_port);
      for (int f = 0; f < 5; ++f) differing[f] += hash(inside[f]) != hash(a);
    }
    for (int f = 0; f < 5; ++f)
      EXPECT_EQ(differing[f] > 190, ((mask >> f) & 1) != 0) << "key " << mask << " field " << f;
  }
}

// Servers of all versions agree on these.
TEST(FlowHash, OfIpv4NeverChanges) {
  struct Packet {
    uint32_t src;
    uint32_t dst;
    uint8_t proto;
    uint16_t src_port;
    uint16_t dst_port;
    bool fragment;
  };
  static constexpr Packet kPackets[] = {
      {0x0a000001, 0x0a010001, 6, 1024, 80, false},
      {0xc0a80101, 0x08080808, 17, 53124, 53, false},
      {0xc6336401, 0xcb007107, 1, 0, 0, false},
      {0x0a000001, 0x0a010001, 17, 1024, 80, true},
      {0, 0, 0, 0, 0, false},
      {UINT32_MAX, UINT32_MAX, 255, 65535, 65535, false},
  };
  struct Expected {
    unsigned key;  // one bit a field, in the order of FlowKey
    uint16_t identity[std::size(kPackets)];
  };
  constexpr Expected kExpected[] = {
      {31, {0xd372, 0x9a43, 0xb119, 0x8928, 0xdf4e, 0x0b9b}}, {3, {0x358a, 0x2057, 0x2716, 0x358a, 0xdf4e, 0xdf84}},
      {1, {0x302b, 0x10da, 0x0ad9, 0x302b, 0xdf4e, 0x6eb3}},  {2, {0xe88f, 0x8912, 0xba2b, 0xe88f, 0xdf4e, 0xa6e6}},
      {28, {0xb8a4, 0x4f38, 0xc308, 0x934c, 0xdf4e, 0x3dce}}, {0, {0xdf4e, 0xdf4e, 0xdf4e, 0xdf4e, 0xdf4e, 0xdf4e}},
  };
  for (const Expected& expected : kExpected) {
    const unsigned k = expected.key;
    const FlowHash hash(FlowKey{(k & 1) != 0, (k & 2) != 0, (k & 4) != 0, (k & 8) != 0, (k & 16) != 0});
    for (size_t i = 0; i < std::size(kPackets); ++i) {
      ParsedPacket p;
      p.kind = PacketKind::kIpTransport;
      p.ip_version = 4;
      p.ip_src = kPackets[i].src;
      p.ip_dst = kPackets[i].dst;
      p.ip_proto = kPackets[i].proto;
      p.src_port = kPackets[i].src_port;
      p.dst_port = kPackets[i].dst_port;
      p.fragment = kPackets[i].fragment;
      EXPECT_EQ(hash(p), expected.identity[i]) << "key " << k << " packet " << i;
    }
  }
}

ParsedPacket random_ipv6_packet(std::mt19937_64& rng) {
  ParsedPacket p = random_packet(rng);
  p.ip_version = 6;
  p.ip_src = p.ip_dst = 0;
  p.ipv6_src = {rng(), rng()};
  p.ipv6_dst = {rng(), rng()};
  return p;
}

TEST(FlowHash, OfIpv6DependsOnTheKeyAloneAndOnAllOfIt) {
  std::mt19937_64 rng(4);
  for (int mask = 0; mask < 32; ++mask) {
    const FlowKey key{(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0, (mask & 16) != 0};
    const FlowHash hash(key);
    std::vector<int> differing(7);
    for (int i = 0; i < 200; ++i) {
      const ParsedPacket a = random_ipv6_packet(rng);
      ParsedPacket outside = random_ipv6_packet(rng);
      if (key.ip_src) outside.ipv6_src = a.ipv6_src;
      if (key.ip_dst) outside.ipv6_dst = a.ipv6_dst;
      if (key.ip_proto) outside.ip_proto = a.ip_proto;
      if (key.port_src) outside.src_port = a.src_port;
      if (key.port_dst) outside.dst_port = a.dst_port;
      ASSERT_EQ(hash(a), hash(outside)) << "key " << mask;
      ParsedPacket inside[7] = {a, a, a, a, a, a, a};
      const uint64_t bit = uint64_t{1} << rng() % 64;
      inside[0].ipv6_src.high ^= bit;
      inside[1].ipv6_src.low ^= bit;
      inside[2].ipv6_dst.high ^= bit;
      inside[3].ipv6_dst.low ^= bit;
      inside[4].ip_proto = static_cast<uint8_t>(~a.ip_proto);
      inside[5].src_port = static_cast<uint16_t>(~a.src_port);
      inside[6].dst_port = static_cast<uint16_t>(~a.dst_port);
      for (int f = 0; f < 7; ++f) differing[f] += hash(inside[f]) != hash(a);
    }
    const int field_of[7] = {0, 0, 1, 1, 2, 3, 4};
    for (int f = 0; f < 7; ++f)
      EXPECT_EQ(differing[f] > 190, ((mask >> field_of[f]) & 1) != 0) << "key " << mask << " part " << f;
  }
}

TEST(FlowHash, OfIpv6IsEvenOverNeighbouringAddresses) {
  constexpr int kFlows = 1 << 16;
  constexpr size_t kBins = 256;
  const FlowHash hash(kAll);
  for (const bool in_network : {false, true}) {
    std::vector<uint32_t> high(kBins), low(kBins);
    for (int i = 0; i < kFlows; ++i) {
      ParsedPacket p;
      p.kind = PacketKind::kIpTransport;
      p.ip_version = 6;
      p.ip_proto = 6;
      p.ipv6_src = {0x20010db800000000 + (in_network ? static_cast<uint64_t>(i) : 0), 1};
      p.ipv6_dst = {0x20010db800000000, in_network ? 1 : 1 + static_cast<uint64_t>(i)};
      const uint16_t h = hash(p);
      ++high[h >> 8];
      ++low[h & 255];
    }
    const double limit = kBins + 6 * std::sqrt(2.0 * kBins);
    EXPECT_LT(chi_square(high, kFlows), limit);
    EXPECT_LT(chi_square(low, kFlows), limit);
  }
}

TEST(FlowHash, PacketsOfBothVersionsThatAreEqualInTheKeyStayTogether) {
  std::mt19937_64 rng(5);
  const FlowHash hash(FlowKey{.ip_proto = true, .port_dst = true});
  for (int i = 0; i < 100; ++i) {
    const ParsedPacket a = random_ipv6_packet(rng);
    ParsedPacket b = random_packet(rng);
    b.ip_version = 4;
    b.ip_proto = a.ip_proto;
    b.dst_port = a.dst_port;
    ASSERT_EQ(hash(a), hash(b));
  }
}

TEST(FlowHash, AllFragmentsOfADatagramStayTogether) {
  const FlowHash hash(kAll);
  ParsedPacket first;
  first.kind = PacketKind::kIpTransport;
  first.ip_src = 1;
  first.ip_dst = 2;
  first.ip_proto = 17;
  first.src_port = 53;
  first.dst_port = 5353;
  first.fragment = true;
  ParsedPacket later = first;
  later.kind = PacketKind::kIpOther;
  later.src_port = later.dst_port = 0;
  EXPECT_EQ(hash(first), hash(later));

  constexpr uint8_t kDestinationOptions = 60;
  first.ip_version = later.ip_version = 6;
  first.ipv6_src = later.ipv6_src = {1, 2};
  first.ipv6_dst = later.ipv6_dst = {3, 4};
  later.ip_proto = kDestinationOptions;  // which stands in front of the upper layer in the first
  EXPECT_EQ(hash(first), hash(later));
}

}  // namespace
}  // namespace orrery
