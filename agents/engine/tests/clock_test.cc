// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <algorithm>

#include "engine_fixture.h"
#include "support/clock.h"

namespace orrery {
namespace {

// Smallest of many differences, so that being preempted between two reads does not count.
uint64_t least_difference(Clock& clock, int tries) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < tries; ++i) {
    const uint64_t before = monotonic_ns();
    const uint64_t ours = clock.ns(rte_rdtsc());
    const uint64_t after = monotonic_ns();
    const uint64_t difference = ours < before ? before - ours : ours > after ? ours - after : 0;
    least = std::min(least, difference);
  }
  return least;
}

TEST(ClockTest, AgreesWithTheSystemAndSoWithOtherProcesses) {
  testing::eal();
  Clock clock;
  EXPECT_LT(least_difference(clock, 1000), 2000u);
  // Across the re-measurement of the counter's rate.
  const uint64_t end = monotonic_ns() + 600'000'000;
  while (monotonic_ns() < end) ASSERT_LT(least_difference(clock, 200), 2000u);
}

TEST(ClockTest, NeverRunsBackwards) {
  testing::eal();
  Clock clock;
  uint64_t last = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const uint64_t now = clock.ns(rte_rdtsc());
    ASSERT_GE(now, last);
    last = now;
  }
  const uint64_t tsc = rte_rdtsc();
  const uint64_t now = clock.ns(tsc);
  EXPECT_GE(clock.ns(tsc - 1000), now);
}

}  // namespace
}  // namespace orrery
