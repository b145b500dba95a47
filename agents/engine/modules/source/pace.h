// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace orrery {

// When packets are due at a rate, which may be far below one in a lifetime. Times are CLOCK_MONOTONIC.
class Pace {
 public:
  // per_second: above 0.
  constexpr explicit Pace(double per_second) : gap_ns_(1e9 / std::max(per_second, 1e9 / kLongestNs)) {}

  // How many are due now, at most `most`. What a late call missed is due later, as much as `most` of it.
  constexpr uint32_t take(uint64_t now_ns, uint32_t most) {
    const auto now = static_cast<double>(now_ns);
    if (next_ns_ == 0) next_ns_ = now;
    next_ns_ = std::max(next_ns_, now - most * gap_ns_);
    uint32_t count = 0;
    for (; count < most && next_ns_ <= now; ++count) next_ns_ += gap_ns_;
    return count;
  }

  // When the next is due; 0 before the first.
  constexpr uint64_t next_ns() const { return static_cast<uint64_t>(next_ns_); }

 private:
  // A hundred years: what is rarer does not come again.
  static constexpr double kLongestNs = 3.2e18;

  double gap_ns_;
  double next_ns_ = 0;
};

}  // namespace orrery
