// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "nfs/testing/nf_driver.h"
#include "support/clock.h"

namespace orrery::busy_loop {
namespace {

using namespace orrery::testing;

TEST(BusyLoop, HoldsTheCoreFor100UsAPacketAndPassesAllUnchanged) {
  const auto nf = make_nf("busy-loop", nlohmann::json::object());
  const std::vector<Frame> frames(10, build_frame({}));
  const uint64_t before_ns = monotonic_ns();
  for (const Outcome& outcome : run(*nf, frames, Direction::kForward, before_ns)) {
    EXPECT_FALSE(outcome.verdict.drop);
    EXPECT_EQ(outcome.frame, frames[0]);
  }
  EXPECT_GE(monotonic_ns() - before_ns, 10 * 100'000u);
  EXPECT_EQ(nf->state(1)["packets"], 10);
}

}  // namespace
}  // namespace orrery::busy_loop
