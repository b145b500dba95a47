// SPDX-License-Identifier: Apache-2.0
// Numbers as byte strings (P4Runtime 1.4, 8.4).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "p4/core/bytes.h"
#include "p4/service/failure.h"

namespace orrery::p4::service {

// Without leading zero bytes, but one byte at least.
std::string_view shortest(std::string_view bytes);

// Bits that the number needs; 0 for zero.
uint32_t bits_of(std::string_view bytes);

// As "0x..", for messages.
std::string shown(std::string_view bytes);

// What is wrong with a value of so many bits; empty if nothing is.
std::string fault_of(std::string_view bytes, uint32_t width);

// The shortest form. Throws Failure with OUT_OF_RANGE, which begins with `field`, if it has more bits, or no byte.
ByteString checked(std::string_view bytes, uint32_t width, std::string_view field);

// A number of at most 32 bits.
uint32_t to_u32(std::string_view bytes, std::string_view field);
ByteString from_u32(uint32_t value);

// Compares numbers: below, equal, above zero.
int compare(std::string_view a, std::string_view b);
// Whether all bits of `value` are in `mask`.
bool within(std::string_view value, std::string_view mask);
// Zero bits at the end; `width` for zero.
uint32_t trailing_zeros(std::string_view bytes, uint32_t width);
// The largest number of so many bits.
ByteString all_ones(uint32_t width);
// Ones in front, zeros behind.
ByteString prefix_mask(uint32_t prefix_length, uint32_t width);

// Two's complement: of int<width> as P4Runtime has it, to and from bit<width>.
ByteString unsigned_of(std::string_view bytes, uint32_t width, std::string_view field);
ByteString signed_of(std::string_view bytes, uint32_t width);

// Numbers one behind the other, most significant bit first.
class BitWriter {
 public:
  // Precondition: the number has at most so many bits.
  void add(std::string_view bytes, uint32_t width);
  // Filled up with zero bits to whole bytes.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  uint32_t used_ = 0;  // bits of the last byte
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}
  // In the shortest form. Precondition: so many bits are left.
  ByteString take(uint32_t width);

 private:
  std::string_view bytes_;
  size_t at_ = 0;  // bit
};

}  // namespace orrery::p4::service
