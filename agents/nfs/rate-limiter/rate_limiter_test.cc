// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "nfs/testing/nf_driver.h"

namespace orrery::rate_limiter {
namespace {

using namespace orrery::testing;
using nlohmann::json;

constexpr uint64_t kSecond = 1'000'000'000;

Frame frame_of(size_t size) {
  FrameSpec spec;
  spec.payload.assign(size - 54, 'x');
  return build_frame(spec);
}

TEST(RateLimiter, PassesTheRateOverSimulatedTime) {
  Rng rng(1);
  for (uint64_t rate_bps : {uint64_t{1'000}, uint64_t{999'983}, uint64_t{100'000'000}, uint64_t{1'000'000'000'000}}) {
    constexpr uint64_t kBurst = 20'000;  // too much to fill up under this load
    const auto nf = make_nf("rate-limiter", {{"rate_bps", rate_bps}, {"burst_bytes", kBurst}});
    const uint64_t packet_ns = uint64_t{800} * 8 * kSecond / rate_bps + 1;
    const uint64_t start = kSecond;
    uint64_t now = start;
    uint64_t passed = 0;
    for (int i = 0; i < 3000; ++i) {
      std::vector<Frame> frames;
      for (uint64_t n = 1 + rng() % 8; n > 0; --n) frames.push_back(frame_of(60 + rng() % 1440));
      for (const Outcome& o : run(*nf, frames, Direction::kForward, now)) {
        if (o.verdict.drop) {
          ASSERT_EQ(o.reason, "over_rate");
        } else {
          passed += o.frame.size();
        }
      }
      const double allowed = kBurst + static_cast<double>(now - start) * static_cast<double>(rate_bps) / 8e9;
      ASSERT_LE(static_cast<double>(passed), allowed + 1) << "never more than burst and rate";
      // A packet is refused only when less than its length was left.
      ASSERT_GE(static_cast<double>(passed), allowed - kBurst - 1500);
      now += rng() % (2 * packet_ns);
    }
  }
}

TEST(RateLimiter, ABurstAfterAPauseIsBounded) {
  const auto nf = make_nf("rate-limiter", {{"rate_bps", 8'000}, {"burst_bytes", 1000}});
  const auto passed = [&](uint64_t now) {
    size_t count = 0;
    for (const Outcome& o : run(*nf, std::vector<Frame>(20, frame_of(100)), Direction::kForward, now))
      count += !o.verdict.drop;
    return count;
  };
  EXPECT_EQ(passed(kSecond), 10u);
  EXPECT_EQ(passed(kSecond), 0u);
  EXPECT_EQ(passed(kSecond + kSecond / 10), 1u);
  EXPECT_EQ(passed(kSecond / 2), 0u) << "time does not run backwards";
  EXPECT_EQ(passed(1000 * kSecond), 10u);
  EXPECT_EQ(passed(UINT64_MAX), 10u);
}

TEST(RateLimiter, CountsBothDirectionsInOneBucket) {
  const auto nf = make_nf("rate-limiter", {{"rate_bps", 1}, {"burst_bytes", 150}});
  const Outcome first = run_one(*nf, frame_of(100), Direction::kReturn);
  EXPECT_FALSE(first.verdict.drop);
  EXPECT_EQ(first.verdict.out, Direction::kReturn);
  EXPECT_TRUE(run_one(*nf, frame_of(100)).verdict.drop);
  const json state = nf->state(1);
  EXPECT_EQ(state["passed"]["bytes"], 100);
  EXPECT_EQ(state["dropped"]["packets"], 1);
}

TEST(RateLimiter, TokensMoveAndSurviveReconfiguration) {
  const json config = {{"rate_bps", 1}, {"burst_bytes", 1000}};
  const auto nf = make_nf("rate-limiter", config);
  run_one(*nf, frame_of(600));
  const auto other = make_nf("rate-limiter", config);
  other->import_state(nf->export_state());
  EXPECT_EQ(other->state(1)["tokens_bytes"], 400);
  nf->configure({{"rate_bps", 1}, {"burst_bytes", 100'000}});
  EXPECT_EQ(nf->state(1)["tokens_bytes"], 400) << "no burst for free";
  nf->configure({{"rate_bps", 1}, {"burst_bytes", 100}});
  EXPECT_EQ(nf->state(1)["tokens_bytes"], 100);
  EXPECT_EQ(error_pointer([&] { nf->import_state(json::object()); }), "/tokens_bytes");
  EXPECT_EQ(error_pointer([&] { nf->import_state({{"tokens_bytes", "x"}}); }), "/tokens_bytes");
}

}  // namespace
}  // namespace orrery::rate_limiter
