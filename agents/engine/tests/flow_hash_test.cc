// SPDX-License-Identifier: Apache-2.0
#include "modules/hash_split/flow_hash.h"

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

TEST(FlowHash, AllFragmentsOfADatagramStayTogether) {
  const FlowHash hash(kAll);
  ParsedPacket first;
  first.ip_src = 1;
  first.ip_dst = 2;
  first.ip_proto = 17;
  first.src_port = 53;
  first.dst_port = 5353;
  first.fragment = true;
  ParsedPacket later = first;
  later.src_port = later.dst_port = 0;
  EXPECT_EQ(hash(first), hash(later));
}

}  // namespace
}  // namespace orrery
