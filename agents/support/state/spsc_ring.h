// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

namespace orrery::state {

// Bounded queue of records of bytes from one thread to another. A record lies in one piece, aligned to 8 bytes. Neither
// side waits, takes a lock or allocates.
class SpscRing {
 public:
  // What a record takes of the ring beside its own bytes, which are rounded up to 8.
  static constexpr size_t kHeaderBytes = 8;
  static constexpr size_t room_of(size_t record_bytes) { return kHeaderBytes + ((record_bytes + 7) & ~size_t{7}); }

  // capacity_bytes: a power of two, 64 to 2^30. Throws std::invalid_argument.
  explicit SpscRing(size_t capacity_bytes) : capacity_(capacity_bytes), mask_(capacity_bytes - 1) {
    if (!std::has_single_bit(capacity_bytes) || capacity_bytes < 64 || capacity_bytes > size_t{1} << 30)
      throw std::invalid_argument("the capacity of a ring must be a power of two from 64 to 2^30 bytes");
    // Written once, so that the operating system has provided all of it before the first packet.
    memory_ = std::make_unique<uint64_t[]>(capacity_bytes / 8);
  }

  size_t capacity() const { return capacity_; }

  // Producer: where to write a record of so many bytes, or null when it would leave less than `keep_free_bytes`. It is
  // in the queue after commit(); without that, the next call gives the same room again.
  uint8_t* begin_push(size_t record_bytes, size_t keep_free_bytes = 0) {
    const size_t room = room_of(record_bytes);
    const size_t to_end = capacity_ - (written_ & mask_);
    const size_t skipped = to_end < room ? to_end : 0;
    if (!fits(skipped + room + keep_free_bytes)) return nullptr;
    if (skipped != 0) write_length(written_, kSkip);
    write_length(written_ + skipped, record_bytes);
    committed_next_ = written_ + skipped + room;
    return at(written_ + skipped + kHeaderBytes);
  }

  void commit() {
    written_ = committed_next_;
    // Sequentially consistent for WakeUp: the consumer either sees the record or is seen to sleep.
    tail_.store(written_, std::memory_order_seq_cst);
  }

  // Consumer: whether there is nothing behind what was popped. What the producer wrote anywhere before a record that
  // this sees is seen, too.
  bool empty() const { return read_ == tail_.load(std::memory_order_seq_cst); }

  // Consumer: the oldest record that was not popped; data() is null when there is none.
  std::span<const uint8_t> front() {
    if (read_ == known_tail_) {
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (read_ == known_tail_) return {};
    }
    if (length_at(read_) == kSkip) read_ += capacity_ - (read_ & mask_);
    return {at(read_ + kHeaderBytes), length_at(read_)};
  }

  // Consumer: takes the record of front(), whose bytes stay until release(). Precondition: there is one.
  void pop() { read_ += room_of(length_at(read_)); }

  // Consumer: gives the room of all popped records back.
  void release() {
    if (released_ == read_) return;
    released_ = read_;
    head_.store(read_, std::memory_order_release);
  }

 private:
  static constexpr uint64_t kSkip = ~uint64_t{0};  // instead of a length: the rest of the memory holds no record

  uint8_t* at(uint64_t position) { return reinterpret_cast<uint8_t*>(memory_.get()) + (position & mask_); }
  void write_length(uint64_t position, uint64_t length) { memory_[(position & mask_) / 8] = length; }
  uint64_t length_at(uint64_t position) const { return memory_[(position & mask_) / 8]; }

  bool fits(size_t bytes) {
    if (capacity_ - (written_ - known_head_) >= bytes) return true;
    known_head_ = head_.load(std::memory_order_acquire);
    return capacity_ - (written_ - known_head_) >= bytes;
  }

  const size_t capacity_;
  const size_t mask_;
  std::unique_ptr<uint64_t[]> memory_;

  // Positions count bytes since the start. Each thread writes its own cache line.
  alignas(64) std::atomic<uint64_t> tail_{0};
  uint64_t written_ = 0;
  uint64_t committed_next_ = 0;
  uint64_t known_head_ = 0;

  alignas(64) std::atomic<uint64_t> head_{0};
  uint64_t read_ = 0;
  uint64_t released_ = 0;
  uint64_t known_tail_ = 0;
};

}  // namespace orrery::state
