// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nfs/ddos-detector/crc32c.h"

namespace orrery::ddos_detector {

// When a counter stands out: at least `minimum`, and more than so many standard deviations above the mean.
struct SynLimits {
  uint32_t minimum;
  uint32_t quarter_deviations;  // at most 64, so that nothing overflows 64 bits
};

// SYNs that wait for their ACK, counted by destination. Destinations whose CRC-32C is equal modulo 1,024 share a
// counter. All arithmetic is in integers, as on a board.
template <class Address>
class SynCountersOf {
 public:
  static constexpr size_t kCounters = 1024;
  // So many windows without a SYN empty every counter and clear every flag.
  static constexpr uint32_t kWindowsToForget = 17;

  struct Counter {
    Address address;  // that raised it last
    Address flagged_address;
    uint16_t count;
    bool flagged;
  };

  using Limits = SynLimits;

  static size_t index_of(Address address) { return crc32c(address) % kCounters; }

  void raise(Address address) {
    Counter& counter = counters_[index_of(address)];
    counter.address = address;
    if (counter.count != UINT16_MAX) ++counter.count;
  }

  void lower(Address address) {
    Counter& counter = counters_[index_of(address)];
    if (counter.count != 0) --counter.count;
  }

  bool is_flagged(Address address) const {
    const Counter& counter = counters_[index_of(address)];
    return counter.flagged && counter.flagged_address == address;
  }

  // Ends a window: judges all counters, flags and clears destinations, halves the counters. Calls
  // on_change(address, flagged, count, mean) for each destination that is flagged or cleared.
  template <class OnChange>
  void close_window(const Limits& limits, OnChange&& on_change) {
    const Sums sums = sums_of_all();
    const uint32_t mean = sums.n == 0 ? 0 : static_cast<uint32_t>(sums.s / sums.n);
    for (Counter& counter : counters_) {
      const bool attack = stands_out(counter.count, sums, limits);
      if (counter.flagged && !(attack && counter.flagged_address == counter.address)) {
        counter.flagged = false;
        on_change(counter.flagged_address, false, counter.count, mean);
      }
      if (attack && !counter.flagged) {
        counter.flagged = true;
        counter.flagged_address = counter.address;
        on_change(counter.address, true, counter.count, mean);
      }
      counter.count /= 2;
    }
  }

  const std::array<Counter, kCounters>& all() const { return counters_; }

  // Adds a counter of another instance; its destination wins when more SYNs wait for it.
  void add(const Counter& other) {
    Counter& counter = counters_[index_of(other.address)];
    if (other.count >= counter.count) counter.address = other.address;
    counter.count = static_cast<uint16_t>(std::min<uint32_t>(UINT16_MAX, uint32_t{counter.count} + other.count));
    if (!other.flagged || counter.flagged) return;
    counter.flagged = true;
    counter.flagged_address = other.flagged_address;
  }

 private:
  // Over the counters above 0: how many, their sum, the sum of their squares.
  struct Sums {
    uint64_t n = 0;
    uint64_t s = 0;
    uint64_t q = 0;
  };

  Sums sums_of_all() const {
    Sums sums;
    for (const Counter& counter : counters_) {
      const uint64_t c = counter.count;
      sums.n += c != 0;
      sums.s += c;
      sums.q += c * c;
    }
    return sums;
  }

  // c > mean + k/4 deviations, multiplied by n and squared.
  static bool stands_out(uint64_t c, const Sums& sums, const Limits& limits) {
    if (c == 0 || c < limits.minimum) return false;
    if (sums.n == 1) return true;
    if (sums.n * c <= sums.s) return false;
    const uint64_t above = sums.n * c - sums.s;
    const uint64_t k = limits.quarter_deviations;
    return above * above * 16 > k * k * (sums.n * sums.q - sums.s * sums.s);
  }

  std::array<Counter, kCounters> counters_{};
};

// Destinations of each IP version are counted and judged by themselves: those of IPv4 as on a board, whatever else
// there is.
using SynCounters = SynCountersOf<uint32_t>;
using Ipv6SynCounters = SynCountersOf<Ipv6Address>;

}  // namespace orrery::ddos_detector
