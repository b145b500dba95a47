// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::p4 {

// An unsigned number, most significant byte first. Leading zero bytes may be there or not; empty is zero.
using ByteString = std::string;

// Numbers of any width are arrays of 64-bit words, least significant word first.
using Words = std::vector<uint64_t>;

constexpr uint32_t words_of(uint32_t width_bits) {
  return (width_bits + 63) / 64;
}
constexpr uint64_t low_mask(uint32_t width_bits) {
  return width_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << width_bits) - 1;
}

// Whether the number has at most so many bits; only then is `out` written, all its words_of(width) words.
bool to_words(std::string_view bytes, uint32_t width_bits, uint64_t* out);

// In the shortest form, one byte for zero (P4Runtime 8.4).
ByteString to_bytes(const uint64_t* words, uint32_t width_bits);
ByteString to_bytes(uint64_t value);

// "0x" and the shortest hexadecimal form.
std::string to_hex(const uint64_t* words, uint32_t width_bits);

}  // namespace orrery::p4
