// SPDX-License-Identifier: Apache-2.0
#include "flows/distribution.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace orrery::flows {
namespace {

struct Published {
  std::string name;
  double mean;
  std::vector<Breakpoint> points;  // of the CDF, some of them
};

const std::vector<Published> kSizes = {
    {"web-search", 1'711'250, {{10e3, 0.15}, {80e3, 0.53}, {1e6, 0.7}, {10e6, 0.97}, {30e6, 1}}},
    {"data-mining", 12'656'500, {{180, 0.1}, {1100, 0.5}, {10e3, 0.8}, {3.16e6, 0.95}, {1e9, 1}}},
    {"benson-2010", 62'635, {{1e3, 0.5}, {10e3, 0.8}, {1e6, 0.99}}},
};

// Of the values below the given share: a sum over the inverse, which knows nothing of breakpoints.
double sum_up(const Distribution& distribution, double from, double to, int steps = 1'000'000) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) sum += distribution.quantile(from + (to - from) * (i + 0.5) / steps);
  return sum * (to - from) / steps;
}

TEST(Distributions, HaveTheQuantilesAndMeansOfTheirSources) {
  for (const auto& [name, mean, points] : kSizes) {
    const auto shape = flow_shape(name);
    ASSERT_TRUE(shape) << name;
    for (const auto& [value, share] : points) EXPECT_NEAR(shape->sizes.quantile(share), value, 1e-6 * value) << name;
    EXPECT_NEAR(shape->sizes.mean(), mean, 0.001 * mean) << name;
    EXPECT_NEAR(sum_up(shape->sizes, 0, 1), mean, 0.001 * mean) << name;
  }
  EXPECT_FALSE(flow_shape("pareto"));
}

TEST(Distributions, OfDataCentersAreWhatTheirTextSays) {
  const auto shape = *flow_shape("benson-2010");
  EXPECT_GT(sum_up(shape.sizes, 0.9, 1), 0.5 * shape.sizes.mean());
  EXPECT_NEAR(shape.lifetimes->quantile(0.8), 11, 1e-9);
  EXPECT_LT(shape.lifetimes->quantile(0.5), 1);
  EXPECT_NEAR(shape.sizes.mean() * 8 * 2000, 1e9, 1e7);
  EXPECT_NEAR(shape.lifetimes->mean() * 2000, 10'000, 100);
}

TEST(Distributions, NeverFall) {
  for (const auto& [name, mean, points] : kSizes) {
    const Distribution sizes = flow_shape(name)->sizes;
    double before = 0;
    for (int i = 0; i <= 10'000; ++i) {
      const double value = sizes.quantile(i / 10'000.0);
      EXPECT_GE(value, before);
      before = value;
    }
  }
}

}  // namespace
}  // namespace orrery::flows
