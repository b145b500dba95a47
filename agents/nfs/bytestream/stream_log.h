// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace orrery {

// Stream bytes that came in before the packet that made them contiguous. A ring that is written by any number of
// workers and read by any: what is read too late is gone, and the reader is told. So nobody has to give bytes back, and
// packets may carry views of it through queues, copies and graph changes.
class StreamLog {
 public:
  // bytes: a power of two, at least 8. The operating system provides memory as it is first written.
  explicit StreamLog(size_t bytes)
      : words_(std::make_unique_for_overwrite<uint64_t[]>(bytes / kWord)), mask_(bytes / kWord - 1) {}

  size_t capacity_bytes() const { return (mask_ + 1) * kWord; }

  // A number that no other stream has.
  uint64_t next_stream() { return 1 + streams_.fetch_add(1, std::memory_order_relaxed); }

  // Returns where the bytes are. Precondition: no more than capacity_bytes().
  uint64_t append(std::span<const uint8_t> bytes) {
    const uint64_t begin = head_.fetch_add(words_for(bytes.size()), std::memory_order_relaxed);
    // A reader that finds a word of these bytes finds the head behind them too.
    std::atomic_thread_fence(std::memory_order_release);
    uint64_t at = begin;
    for (auto rest = bytes; !rest.empty(); rest = rest.subspan(std::min(rest.size(), kWord))) {
      uint64_t word = 0;
      std::memcpy(&word, rest.data(), std::min(rest.size(), kWord));
      std::atomic_ref(words_[at++ & mask_]).store(word, std::memory_order_relaxed);
    }
    return begin;
  }

  // False: they have been overwritten, and what is in `out` means nothing. Precondition: append() returned `begin` for
  // so many bytes.
  bool read(uint64_t begin, std::span<uint8_t> out) const {
    if (!holds(begin)) return false;
    uint64_t at = begin;
    for (auto rest = out; !rest.empty(); rest = rest.subspan(std::min(rest.size(), kWord))) {
      const uint64_t word = std::atomic_ref(words_[at++ & mask_]).load(std::memory_order_relaxed);
      std::memcpy(rest.data(), &word, std::min(rest.size(), kWord));
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return holds(begin);
  }

 private:
  static constexpr size_t kWord = sizeof(uint64_t);

  static uint64_t words_for(size_t bytes) { return (bytes + kWord - 1) / kWord; }
  bool holds(uint64_t begin) const { return head_.load(std::memory_order_relaxed) - begin <= mask_ + 1; }

  std::unique_ptr<uint64_t[]> words_;
  uint64_t mask_;
  std::atomic<uint64_t> head_{0};  // in words
  std::atomic<uint64_t> streams_{0};
};

}  // namespace orrery
