// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <rte_cycles.h>

#include "support/clock.h"

namespace orrery {

namespace {

constexpr uint64_t kRateWindowNs = 500'000'000;

struct Reading {
  uint64_t tsc;
  uint64_t ns;
};

// The tightest of three pairs, so that being preempted between the two reads does little harm.
Reading read_both() {
  Reading best{};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = rte_rdtsc();
    const uint64_t ns = monotonic_ns();
    const uint64_t width = rte_rdtsc() - before;
    if (width < best_width) {
      best_width = width;
      best = {before + width / 2, ns};
    }
  }
  return best;
}

}  // namespace

Clock::Clock() {
  const uint64_t hz = rte_get_tsc_hz();
  period_ = hz / 1000;
  ns_per_cycle_q32_ = static_cast<int64_t>((static_cast<unsigned __int128>(1'000'000'000u) << 32) / hz);
  anchor();
  base_tsc_ = anchor_tsc_;
  base_ns_ = anchor_ns_;
}

void Clock::anchor() {
  const Reading now = read_both();
  anchor_tsc_ = now.tsc;
  anchor_ns_ = now.ns;
  if (base_ns_ != 0 && now.ns - base_ns_ >= kRateWindowNs) {
    ns_per_cycle_q32_ =
        static_cast<int64_t>((static_cast<unsigned __int128>(now.ns - base_ns_) << 32) / (now.tsc - base_tsc_));
    base_tsc_ = now.tsc;
    base_ns_ = now.ns;
  }
}

}  // namespace orrery
