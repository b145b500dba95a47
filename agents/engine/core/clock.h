// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace orrery {

// CLOCK_MONOTONIC in nanoseconds from a time stamp counter, for one thread. It is set to the system's clock at least
// every millisecond that it is read, so clocks of several processes agree to well within a microsecond or two.
class Clock {
 public:
  Clock();

  // Time at which the counter read `tsc`, which must be recent. Never runs backwards.
  uint64_t ns(uint64_t tsc) {
    if (tsc - anchor_tsc_ >= period_) [[unlikely]]
      anchor();
    const auto past = static_cast<int64_t>(tsc - anchor_tsc_);
    const uint64_t t = anchor_ns_ + static_cast<uint64_t>((past * ns_per_cycle_q32_) >> 32);
    if (t > last_ns_) last_ns_ = t;
    return last_ns_;
  }

 private:
  void anchor();

  uint64_t anchor_tsc_ = 0;
  uint64_t anchor_ns_ = 0;
  uint64_t base_tsc_ = 0;  // where the measurement of the counter's rate began
  uint64_t base_ns_ = 0;
  uint64_t last_ns_ = 0;
  uint64_t period_ = 0;
  int64_t ns_per_cycle_q32_ = 0;
};

}  // namespace orrery
