// SPDX-License-Identifier: Apache-2.0
// Bits of packets, most significant first. Numbers are words, least significant first.
#pragma once

#include <algorithm>
#include <cstdint>

#include "p4/core/bytes.h"
#include "support/checksum.h"

namespace orrery::p4 {

// Up to 64 bits anywhere; reads only the bytes that they are in.
inline uint64_t read_bits64(const uint8_t* bytes, uint64_t place, uint32_t width) {
  const uint8_t* at = bytes + place / 8;
  const uint32_t skip = place % 8;
  const uint32_t count = (skip + width + 7) / 8;
  uint64_t value = at[0] & (0xffu >> skip);
  for (uint32_t i = 1; i < std::min(count, 8u); ++i) value = value << 8 | at[i];
  const uint32_t behind = count * 8 - skip - width;
  if (count == 9) return value << (8 - behind) | uint64_t{at[8]} >> behind;
  return value >> behind;
}

inline void read_bits(const uint8_t* bytes, uint64_t place, uint32_t width, uint64_t* words) {
  for (uint32_t done = 0; done < width; done += 64) {
    const uint32_t bits = std::min(64u, width - done);
    words[done / 64] = read_bits64(bytes, place + width - done - bits, bits);
  }
}

// The bits around them stay.
inline void write_bits64(uint8_t* bytes, uint64_t place, uint32_t width, uint64_t value) {
  for (uint32_t left = width; left > 0;) {
    const uint32_t skip = place % 8;
    const uint32_t bits = std::min(8 - skip, left);
    const uint32_t behind = 8 - skip - bits;
    const auto mask = static_cast<uint8_t>(((1u << bits) - 1) << behind);
    const auto part = static_cast<uint8_t>((value >> (left - bits) & ((1u << bits) - 1)) << behind);
    uint8_t& byte = bytes[place / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | part);
    place += bits;
    left -= bits;
  }
}

inline void write_bits(uint8_t* bytes, uint64_t place, uint32_t width, const uint64_t* words) {
  for (uint32_t done = 0; done < width; done += 64) {
    const uint32_t bits = std::min(64u, width - done);
    write_bits64(bytes, place + width - done - bits, bits, words[done / 64]);
  }
}

// One number behind the other, with zeros up to a whole byte at the end.
class BitWriter {
 public:
  // Writes up to four bytes more than what is put.
  explicit BitWriter(uint8_t* out) : begin_(out), out_(out) {}

  void put(uint64_t value, uint32_t width) {
    if (width > 32) {
      put(value >> 32, width - 32);
      width = 32;
    }
    pending_ = pending_ << width | (value & low_mask(width));
    filled_ += width;
    if (filled_ < 32) return;
    filled_ -= 32;
    store_be32(out_, static_cast<uint32_t>(pending_ >> filled_));
    out_ += 4;
  }
  void put(const uint64_t* words, uint32_t width) {
    for (uint32_t count = words_of(width); count > 0; --count)
      put(words[count - 1], count * 64 > width ? width - (count - 1) * 64 : 64);
  }
  void put_bytes(const uint8_t* bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) put(bytes[i], 8);
  }
  // How many bytes were put.
  uint32_t finish() {
    if (filled_ != 0) store_be32(out_, static_cast<uint32_t>(pending_ << (32 - filled_)));
    return static_cast<uint32_t>(out_ - begin_) + (filled_ + 7) / 8;
  }

 private:
  uint8_t* begin_;
  uint8_t* out_;
  uint64_t pending_ = 0;
  uint32_t filled_ = 0;  // bits, fewer than 32
};

}  // namespace orrery::p4
