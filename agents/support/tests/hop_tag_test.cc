// SPDX-License-Identifier: Apache-2.0
#include "support/hop_tag.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery {
namespace {

TEST(HopTag, WritesTheAddressesOfTheContract) {
  uint8_t frame[kEthernetHeader] = {};
  write_hop_tag(frame, {0x1234, 0xabcd}, 0x1122334455667788u);
  const uint8_t expected[12] = {0x02, 0x0e, 0x12, 0x34, 0xab, 0xcd, 0x06, 0x44, 0x55, 0x66, 0x77, 0x88};
  EXPECT_EQ(0, std::memcmp(frame, expected, sizeof(expected)));
}

TEST(HopTag, CarriesHopMetadataAndIngressTime) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 20'000; ++i) {
    uint8_t frame[kEthernetHeader];
    const HopTag tag{static_cast<uint16_t>(rng()), static_cast<uint16_t>(rng())};
    const uint64_t now_ns = (rng() >> 4) + (uint64_t{1} << 40);
    const uint64_t age_ns = rng() % (uint64_t{1} << 39);
    write_hop_tag(frame, tag, now_ns - age_ns);
    HopTag back{};
    ASSERT_TRUE(read_hop_tag(frame, back));
    ASSERT_EQ(back.hop, tag.hop);
    ASSERT_EQ(back.metadata, tag.metadata);
    ASSERT_EQ(read_ingress_ns(frame, now_ns), now_ns - age_ns);
  }
}

TEST(HopTag, OnlyTaggedDestinationsAreTags) {
  HopTag tag{};
  uint8_t frame[kEthernetHeader] = {0x02, 0x0f, 0, 1, 0, 0};
  EXPECT_FALSE(read_hop_tag(frame, tag));
  frame[0] = 0x06;
  frame[1] = 0x0e;
  EXPECT_FALSE(read_hop_tag(frame, tag));
}

TEST(HopTag, AFrameWithoutIngressTimeEntersNow) {
  const uint8_t frame[kEthernetHeader] = {0x02, 0x0e, 0, 1, 0, 0, 0x02, 1, 2, 3, 4, 5};
  EXPECT_EQ(read_ingress_ns(frame, 987654321), 987654321u);
}

TEST(HopTag, AClockAheadOfOursCountsAsNow) {
  uint8_t frame[kEthernetHeader];
  write_hop_tag(frame, {1, 0}, 5'000'000'000u + 3000);
  EXPECT_EQ(read_ingress_ns(frame, 5'000'000'000u), 5'000'000'000u);
}

TEST(HopTag, AnAgeBeyondTheMachinesUptimeCountsAsNow) {
  uint8_t frame[kEthernetHeader];
  write_hop_tag(frame, {1, 0}, (uint64_t{1} << 40) - 1000);
  EXPECT_EQ(read_ingress_ns(frame, 500), 500u);
}

}  // namespace
}  // namespace orrery
