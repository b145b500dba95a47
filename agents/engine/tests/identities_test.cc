// SPDX-License-Identifier: Apache-2.0
#include "modules/mirror/identities.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_set>

namespace orrery {
namespace {

constexpr uint64_t kWindowNs = uint64_t{Identities::kWindowUs} << 10;

TEST(Identities, KeepTheTimeOfIngress) {
  Identities identities;
  const uint64_t now_ns = 12'345'678'901'234;
  for (uint64_t age_ns : {uint64_t{0}, uint64_t{5000}, uint64_t{100'000'000}})
    EXPECT_EQ(identities.next(now_ns - age_ns, now_ns) >> 10, ((now_ns - age_ns) & kStampMask) >> 10);
}

// One of two ways is slower, so that packets of one microsecond come thousands of packets apart.
TEST(Identities, DoNotRepeatWhereOneOfTwoWaysIsSlower) {
  Identities identities;
  std::unordered_set<uint64_t> seen;
  const uint64_t begin_ns = uint64_t{1} << 41;
  for (const uint64_t wait_us : {0, 1024, 2048, 100'000})
    for (uint64_t n = 0; n < 20'000; ++n) {
      const uint64_t ingress_ns = begin_ns + n * 20;
      EXPECT_TRUE(seen.insert(identities.next(ingress_ns, ingress_ns + wait_us * 1000)).second) << n;
    }
}

TEST(Identities, BurstsBeyondAMicrosecondsNumbersBorrowFromTheNext) {
  Identities identities;
  std::unordered_set<uint64_t> seen;
  const uint64_t now_ns = uint64_t{77} << 30;
  for (int n = 0; n < 10'000; ++n) EXPECT_TRUE(seen.insert(identities.next(now_ns, now_ns)).second);
  for (int n = 0; n < 10'000; ++n) EXPECT_TRUE(seen.insert(identities.next(now_ns + 1024, now_ns + 1024)).second);
}

// Packets older than the window come between younger ones, and the stamp's 40 bits wrap.
TEST(Identities, DoNotRepeatWhateverTheAge) {
  std::mt19937_64 rng(5);
  for (const uint64_t begin_ns :
       {uint64_t{1} << 30, (uint64_t{1} << 40) - kWindowNs / 2, uint64_t{3'000'000'000'000}}) {
    Identities identities;
    std::unordered_set<uint64_t> seen;
    uint64_t now_ns = begin_ns + 4 * kWindowNs;
    for (int n = 0; n < 200'000; ++n) {
      if (rng() % 3 == 0) now_ns += rng() % 20'000;
      const uint64_t most_ns = rng() % 4 == 0 ? 3 * kWindowNs : 5000;
      const uint64_t identity = identities.next(now_ns - rng() % most_ns, now_ns);
      ASSERT_NE(identity, 0u);
      ASSERT_TRUE(seen.insert(identity).second) << n;
    }
  }
}

}  // namespace
}  // namespace orrery
