// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "support/histogram.h"

namespace orrery {

// Adds the ages of packets to a histogram. Neighbours mostly began at the same time and are added together, because one
// addition to memory a packet costs nanoseconds.
class Ages {
 public:
  // `stands_for`: how many packets each of them counts for.
  Ages(Histogram& histogram, uint64_t now_ns, uint32_t stands_for = 1)
      : histogram_(histogram), now_ns_(now_ns), stands_for_(stands_for) {}
  ~Ages() { flush(); }
  Ages(const Ages&) = delete;
  Ages& operator=(const Ages&) = delete;

  // Packets that began at `since_ns`; a time ahead of now counts as now.
  void add(uint64_t since_ns, uint32_t count = 1) {
    if (since_ns != since_ns_) {
      flush();
      since_ns_ = since_ns;
      count_ = 0;
    }
    count_ += count;
  }

 private:
  void flush() {
    if (count_ != 0) histogram_.add(now_ns_ - std::min(now_ns_, since_ns_), uint64_t{count_} * stands_for_);
  }

  Histogram& histogram_;
  uint64_t now_ns_;
  uint32_t stands_for_;
  uint64_t since_ns_ = 0;
  uint32_t count_ = 0;
};

}  // namespace orrery
