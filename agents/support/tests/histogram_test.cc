// SPDX-License-Identifier: Apache-2.0
#include "support/histogram.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery {
namespace {

TEST(Histogram, BucketsAreThoseOfTheContract) {
  // Computed with bucketOf() of backend/contract/src/histogram.ts.
  constexpr std::pair<uint64_t, uint32_t> kExpected[] = {
      {0, 0},       {1, 1},         {15, 15},          {16, 16},           {31, 31},
      {32, 32},     {33, 32},       {34, 33},          {63, 47},           {64, 48},
      {1000, 111},  {1023, 111},    {1024, 112},       {1500, 119},        {65535, 207},
      {65536, 208}, {1000000, 270}, {1000000000, 429}, {60000000000, 523}, {1099511627776, 592},
  };
  for (const auto& [ns, bucket] : kExpected) EXPECT_EQ(Histogram::bucket_of(ns), bucket) << ns;
}

TEST(Histogram, EachValueLiesInItsBucket) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t ns = rng() >> rng() % 64;
    const uint32_t bucket = Histogram::bucket_of(ns);
    ASSERT_LT(bucket, Histogram::kBuckets);
    ASSERT_LE(Histogram::bucket_lower_ns(bucket), ns);
    if (bucket + 1 < Histogram::kBuckets) {
      ASSERT_GT(Histogram::bucket_lower_ns(bucket + 1), ns);
    }
  }
  EXPECT_EQ(Histogram::bucket_of(UINT64_MAX), Histogram::kBuckets - 1);
}

TEST(Histogram, AddsAndSubtractsReadings) {
  Histogram h;
  h.add(5);
  h.add(100, 3);
  const Histogram before = h;
  h.add(100);
  h.add(UINT64_MAX);
  EXPECT_EQ(h.count(), 6u);
  Histogram difference = h;
  difference.subtract(before);
  const std::vector<std::pair<uint32_t, uint64_t>> expected = {{Histogram::bucket_of(100), 1},
                                                               {Histogram::kBuckets - 1, 1}};
  EXPECT_EQ(difference.sparse(), expected);
  difference.add(before);
  EXPECT_EQ(difference.sparse(), h.sparse());
  Histogram none = before;
  none.subtract(h);
  EXPECT_EQ(none.count(), 0u) << "never below zero";
}

}  // namespace
}  // namespace orrery
