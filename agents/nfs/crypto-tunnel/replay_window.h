// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace orrery::crypto_tunnel {

// Which sequence numbers have come: anti-replay as RFC 4303 3.4.3 has it, with the ring of RFC 6479.
class ReplayWindow {
 public:
  static constexpr size_t kWords = 16;
  // Numbers below the highest by at least this are too old to tell whether they came.
  static constexpr uint32_t kSize = (kWords - 1) * 64;

  // Whether the number may still come. 0 never does.
  bool admits(uint32_t sequence) const {
    if (sequence > highest_) return true;
    return sequence != 0 && highest_ - sequence < kSize && !seen(sequence);
  }

  // Precondition: admits(sequence), and the packet is authentic.
  void mark(uint32_t sequence) {
    if (sequence > highest_) advance(sequence);
    words_[sequence / 64 % kWords] |= bit(sequence);
  }

  // Closes the window for what came in either of the two.
  void merge(const ReplayWindow& other) {
    const uint32_t highest = std::max(highest_, other.highest_);
    ReplayWindow both;
    both.highest_ = highest;
    for (uint32_t age = 0; age < std::min(kSize, highest); ++age) {
      const uint32_t sequence = highest - age;
      if (!admits(sequence) || !other.admits(sequence)) both.words_[sequence / 64 % kWords] |= bit(sequence);
    }
    *this = both;
  }

  uint32_t highest() const { return highest_; }
  const std::array<uint64_t, kWords>& words() const { return words_; }

  // What highest() and words() were.
  static ReplayWindow restored(uint32_t highest, const std::array<uint64_t, kWords>& words) {
    ReplayWindow window;
    window.highest_ = highest;
    window.words_ = words;
    return window;
  }

 private:
  static uint64_t bit(uint32_t sequence) { return uint64_t{1} << (sequence % 64); }
  bool seen(uint32_t sequence) const { return (words_[sequence / 64 % kWords] & bit(sequence)) != 0; }

  void advance(uint32_t sequence) {
    const uint32_t from = highest_ / 64, to = sequence / 64;
    for (uint32_t step = 1; step <= std::min<uint32_t>(to - from, kWords); ++step) words_[(from + step) % kWords] = 0;
    highest_ = sequence;
  }

  uint32_t highest_ = 0;
  std::array<uint64_t, kWords> words_{};
};

}  // namespace orrery::crypto_tunnel
