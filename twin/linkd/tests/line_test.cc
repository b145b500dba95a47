// SPDX-License-Identifier: Apache-2.0
#include "linkd/line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "linkd/tests/units.h"

namespace orrery::linkd {
namespace {

constexpr LineSettings kLine{.rate_bps = 8e6, .delay_ns = 10 * kMs, .queue_bytes = 10'000};

TEST(Line, AFrameComesOutAfterItsRateAndTheDelay) {
  Line line(kLine, 1);
  // 1000 bytes take 1 ms at 8 Mb/s.
  EXPECT_EQ(line.enter(0, 1000).arrival_ns, 11 * kMs);
  EXPECT_EQ(line.enter(0, 1000).arrival_ns, 12 * kMs);
  EXPECT_EQ(line.enter(100 * kMs, 500).arrival_ns, 110 * kMs + kMs / 2);
}

TEST(Line, TheQueueTakesWhatItHasRoomFor) {
  Line line(kLine, 1);
  int taken = 0;
  while (line.enter(0, 1000).fate == Fate::kArrives) ++taken;
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(line.enter(kMs, 1000).fate, Fate::kArrives);
  EXPECT_EQ(line.enter(kMs, 1000).fate, Fate::kQueueFull);
}

TEST(Line, AFrameLongerThanTheQueuePassesAnIdleLine) {
  Line line(kLine, 1);
  EXPECT_EQ(line.enter(0, 64'000).fate, Fate::kArrives);
  EXPECT_EQ(line.enter(0, 64'000).fate, Fate::kQueueFull);
}

TEST(Line, LosesTheShareThatIsAskedFor) {
  LineSettings settings = kLine;
  settings.loss = 0.1;
  Line line(settings, 7);
  int lost = 0;
  for (uint64_t i = 0; i < 100'000; ++i) lost += line.enter(i * 2 * kMs, 1000).fate == Fate::kLost;
  // Six standard deviations.
  EXPECT_NEAR(lost, 10'000, 6 * std::sqrt(100'000 * 0.1 * 0.9));
}

TEST(Line, LossOfOneLosesAllAndOfZeroNothing) {
  LineSettings settings = kLine;
  settings.loss = 1;
  Line all(settings, 1), none(kLine, 1);
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(all.enter(i * 2 * kMs, 1000).fate, Fate::kLost);
    EXPECT_EQ(none.enter(i * 2 * kMs, 1000).fate, Fate::kArrives);
  }
}

TEST(Line, JitterIsUniformAroundTheDelay) {
  LineSettings settings = kLine;
  settings.jitter_ns = 4 * kMs;
  Line line(settings, 3);
  double sum_ms = 0;
  double least_ms = 100, most_ms = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t now_ns = i * 100 * kMs;
    const double delay_ms = static_cast<double>(line.enter(now_ns, 1000).arrival_ns - now_ns) / 1e6 - 1;
    sum_ms += delay_ms;
    least_ms = std::min(least_ms, delay_ms);
    most_ms = std::max(most_ms, delay_ms);
  }
  EXPECT_NEAR(sum_ms / 20'000, 10, 0.1);
  EXPECT_NEAR(least_ms, 6, 0.05);
  EXPECT_NEAR(most_ms, 14, 0.05);
}

// For all settings and changes to them: order is kept, no frame is early, the rate is not exceeded.
TEST(Line, KeepsOrderDelayAndRateUnderAnySettings) {
  std::mt19937_64 random(11);
  auto below = [&](uint64_t limit) { return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random); };
  for (int round = 0; round < 200; ++round) {
    const double rate_bps = 1e5 * static_cast<double>(1 + below(100'000));
    auto settings = [&] {
      const uint64_t delay_ns = below(20 * kMs);
      return LineSettings{rate_bps, delay_ns, below(delay_ns + 1), 0.01 * static_cast<double>(below(30)),
                          1000 + below(100'000)};
    };
    Line line(settings(), below(1000));
    uint64_t now_ns = 0, latest_ns = 0, last_ns = 0, earliest_end_ns = 0;
    for (int i = 0; i < 500; ++i) {
      if (below(50) == 0) line.change(settings());
      // Clocks may go backwards.
      if (below(10) != 0) now_ns += below(kMs);
      const uint64_t entry_ns = now_ns - (below(20) == 0 ? below(now_ns + 1) : 0);
      latest_ns = std::max(latest_ns, entry_ns);
      const uint64_t bytes = 60 + below(1454);
      const Verdict verdict = line.enter(entry_ns, bytes);
      if (verdict.fate == Fate::kQueueFull) continue;
      earliest_end_ns =
          std::max(earliest_end_ns, latest_ns) + static_cast<uint64_t>(static_cast<double>(bytes) * 8e9 / rate_bps);
      if (verdict.fate == Fate::kLost) continue;
      const LineSettings& now = line.settings();
      EXPECT_GE(verdict.arrival_ns, last_ns);
      EXPECT_GE(verdict.arrival_ns + 1000, earliest_end_ns + now.delay_ns - std::min(now.jitter_ns, now.delay_ns));
      last_ns = verdict.arrival_ns;
    }
  }
}

}  // namespace
}  // namespace orrery::linkd
