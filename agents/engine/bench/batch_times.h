// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/batch.h"

namespace orrery::bench {

// What a worker spends on each full batch, in cycles of the time stamp counter. The worker marks batches, another
// thread reads.
class BatchTimes {
 public:
  // Begins anew. Precondition: no worker runs a module that marks.
  void clear() {
    cycles_.clear();
    cycles_.reserve(kKept);
    skipped_ = packets_ = 0;
    full_.store(false);
  }

  // At the beginning of a batch of so many packets: `busy_cycles` is what the worker has spent so far.
  void mark(uint64_t busy_cycles, uint32_t packets) {
    if (full_.load(std::memory_order_relaxed)) return;
    if (packets_ == kBatchSize && ++skipped_ > kSkipped) cycles_.push_back(busy_cycles - busy_cycles_);
    busy_cycles_ = busy_cycles;
    packets_ = packets;
    if (cycles_.size() == kKept) full_.store(true, std::memory_order_release);
  }

  bool full() const { return full_.load(std::memory_order_acquire); }

  // Cycles per packet. Precondition: full().
  double median() {
    const auto middle = cycles_.begin() + static_cast<ptrdiff_t>(kKept / 2);
    std::nth_element(cycles_.begin(), middle, cycles_.end());
    return static_cast<double>(*middle) / kBatchSize;
  }

 private:
  static constexpr size_t kKept = 4096;
  static constexpr uint32_t kSkipped = 512;  // until caches are warm

  std::vector<uint64_t> cycles_;
  uint64_t busy_cycles_ = 0;
  uint32_t packets_ = 0;
  uint32_t skipped_ = 0;
  std::atomic<bool> full_{false};
};

}  // namespace orrery::bench
