// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/health.h"

#include <gtest/gtest.h>

namespace orrery::load_balancer {
namespace {

constexpr HealthSettings kSettings{.max_failures = 3, .window_ns = 100, .retry_ns = 1000, .min_successes = 2};

Health failed_at(uint64_t now_ns) {
  Health health;
  for (int i = 0; i < 3; ++i) health.fail(kSettings, now_ns);
  return health;
}

TEST(Health, FailsAfterSoManyFailuresInSuccession) {
  Health health;
  health.fail(kSettings, 10);
  health.fail(kSettings, 20);
  health.succeed(kSettings, 25);
  health.fail(kSettings, 30);
  health.fail(kSettings, 40);
  EXPECT_FALSE(health.failed());
  health.fail(kSettings, 130);
  EXPECT_TRUE(health.failed());
  EXPECT_EQ(health.era(), 1);
}

TEST(Health, FailuresFarApartDoNotCountTogether) {
  Health health;
  for (uint64_t now = 1; now < 5000; now += 60) health.fail(kSettings, now);
  EXPECT_FALSE(health.failed());
  health.fail(kSettings, 6000);
  health.fail(kSettings, 6050);
  health.fail(kSettings, 6101);
  EXPECT_FALSE(health.failed()) << "the window of the first is over";
}

TEST(Health, NeverFailsWithoutABound) {
  HealthSettings settings = kSettings;
  settings.max_failures = 0;
  Health health;
  for (int i = 0; i < 100; ++i) health.fail(settings, 10);
  EXPECT_FALSE(health.failed());
}

TEST(Health, AFailedOneIsTriedOnceForEachRetryTime) {
  Health health = failed_at(100);
  EXPECT_FALSE(health.admits(kSettings, 1099));
  EXPECT_TRUE(health.admits(kSettings, 1100));
  EXPECT_FALSE(health.admits(kSettings, 1100)) << "one at a time";
  EXPECT_TRUE(health.admits(kSettings, 2100)) << "what became of the first is not known";
  health.fail(kSettings, 2500);
  EXPECT_FALSE(health.admits(kSettings, 3499));
  EXPECT_TRUE(health.admits(kSettings, 3500));
}

TEST(Health, IsWellAgainAfterSoManySuccessesInSuccession) {
  Health health = failed_at(100);
  EXPECT_TRUE(health.admits(kSettings, 1100));
  health.succeed(kSettings, 1200);
  EXPECT_TRUE(health.failed());
  EXPECT_TRUE(health.admits(kSettings, 1200)) << "the next at once";
  health.fail(kSettings, 1300);
  EXPECT_TRUE(health.admits(kSettings, 2300));
  health.succeed(kSettings, 2310);
  EXPECT_TRUE(health.failed()) << "a failure lies between the two";
  EXPECT_TRUE(health.admits(kSettings, 2310));
  health.succeed(kSettings, 2320);
  EXPECT_FALSE(health.failed());
  EXPECT_EQ(health.era(), 2);
  EXPECT_TRUE(health.admits(kSettings, 2320));
  EXPECT_TRUE(health.admits(kSettings, 2320));
}

}  // namespace
}  // namespace orrery::load_balancer
