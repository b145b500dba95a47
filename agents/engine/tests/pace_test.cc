// SPDX-License-Identifier: Apache-2.0
#include "modules/source/pace.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr uint64_t kNow = 1'000'000'000'000;
constexpr uint32_t kMost = 32;

TEST(Pace, AFractionOfAPacketPerSecondIsNoStandstill) {
  Pace pace(0.5);
  EXPECT_EQ(pace.take(kNow, kMost), 1u);
  EXPECT_EQ(pace.next_ns(), kNow + 2'000'000'000);
  EXPECT_EQ(pace.take(kNow + 1'999'999'999, kMost), 0u);
  EXPECT_EQ(pace.take(kNow + 2'000'000'000, kMost), 1u);
}

// A constant expression: a number that has no place in the result would not compile.
constexpr uint64_t next_after_one(double per_second) {
  Pace pace(per_second);
  pace.take(kNow, kMost);
  return pace.next_ns();
}
static_assert(next_after_one(1e-12) > kNow);
static_assert(next_after_one(1e-300) > kNow);
static_assert(next_after_one(5e-324) > kNow);

TEST(Pace, TheRarestPacketIsSentOnce) {
  for (const double per_second : {1e-12, 1e-300, 5e-324}) {
    Pace pace(per_second);
    EXPECT_EQ(pace.take(kNow, kMost), 1u);
    for (const uint64_t later : {uint64_t{1}, kNow, uint64_t{1} << 60}) EXPECT_EQ(pace.take(kNow + later, kMost), 0u);
  }
}

TEST(Pace, CatchesUpWithAtMostSoMany) {
  Pace pace(1000);
  EXPECT_EQ(pace.take(kNow, kMost), 1u);
  EXPECT_EQ(pace.take(kNow + 3'000'000, kMost), 3u);
  EXPECT_EQ(pace.take(kNow + 3'000'000'000, kMost), kMost);
  EXPECT_EQ(pace.take(kNow + 3'000'000'000, kMost), 1u) << "the one that is due then";
  EXPECT_EQ(pace.take(kNow + 3'000'000'000, kMost), 0u);
}

}  // namespace
}  // namespace orrery
