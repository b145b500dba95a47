// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace orrery::board {

inline constexpr size_t kMaxFrameBytes = 2048;

struct Frame {
  uint16_t length = 0;
  // One beat more than a frame, so that whole beats can be copied and an overlong frame can be detected.
  std::array<uint8_t, kMaxFrameBytes + 8> bytes;

  std::span<const uint8_t> view() const { return {bytes.data(), length}; }
};

// A queue of frames stored in place. Not thread-safe.
class FrameRing {
 public:
  static constexpr size_t kCapacity = 256;

  size_t size() const { return tail_ - head_; }
  bool empty() const { return head_ == tail_; }
  bool full() const { return size() == kCapacity; }
  size_t free() const { return kCapacity - size(); }

  // The i-th waiting frame, and the i-th free place after the last.
  Frame& front(size_t i = 0) { return frames_[(head_ + i) % kCapacity]; }
  Frame& back(size_t i = 0) { return frames_[(tail_ + i) % kCapacity]; }

  void push(size_t n = 1) { tail_ += n; }
  void pop(size_t n = 1) { head_ += n; }
  // Removes the last n.
  void pop_back(size_t n) { tail_ -= n; }

 private:
  std::unique_ptr<Frame[]> frames_ = std::make_unique_for_overwrite<Frame[]>(kCapacity);
  size_t head_ = 0;
  size_t tail_ = 0;
};

}  // namespace orrery::board
