// SPDX-License-Identifier: Apache-2.0
#include "flows/rate_wave.h"

#include <gtest/gtest.h>

namespace orrery::flows {
namespace {

TEST(RateWaves, AreLinearBetweenPointsAndStayAtTheLast) {
  const RateWave wave({{10, 7.2e9}, {20, 12.3e9}, {30, 7.2e9}}, false);
  EXPECT_DOUBLE_EQ(wave.at(0), 7.2e9);
  EXPECT_DOUBLE_EQ(wave.at(10), 7.2e9);
  EXPECT_DOUBLE_EQ(wave.at(15), 9.75e9);
  EXPECT_DOUBLE_EQ(wave.at(20), 12.3e9);
  EXPECT_DOUBLE_EQ(wave.at(29), 7.71e9);
  EXPECT_DOUBLE_EQ(wave.at(1000), 7.2e9);
}

TEST(RateWaves, BeginAgainAtTheirLastPoint) {
  const RateWave wave({{0, 100}, {10, 200}, {20, 0}}, true);
  for (const double round : {0.0, 20.0, 400.0}) {
    EXPECT_DOUBLE_EQ(wave.at(round), 100);
    EXPECT_DOUBLE_EQ(wave.at(round + 5), 150);
    EXPECT_DOUBLE_EQ(wave.at(round + 15), 100);
  }
}

TEST(RateWaves, OfOnePointAreConstant) {
  EXPECT_DOUBLE_EQ(RateWave({{0, 5}}, true).at(7), 5);
  EXPECT_DOUBLE_EQ(RateWave({{3, 5}}, true).at(7), 5);
  EXPECT_DOUBLE_EQ(RateWave(8).at(0), 8);
}

}  // namespace
}  // namespace orrery::flows
