// SPDX-License-Identifier: Apache-2.0
#include "p4/core/bytes.h"

#include <algorithm>
#include <array>

namespace orrery::p4 {

bool to_words(std::string_view bytes, uint32_t width_bits, uint64_t* out) {
  const size_t first = std::min(bytes.find_first_not_of('\0'), bytes.size());
  const std::string_view number = bytes.substr(first);
  const size_t whole = (size_t{width_bits} + 7) / 8;
  if (number.size() > whole) return false;
  if (number.size() == whole && !number.empty() && width_bits % 8 != 0 &&
      static_cast<uint8_t>(number[0]) >> (width_bits % 8) != 0)
    return false;
  std::fill_n(out, words_of(width_bits), 0);
  for (size_t i = 0; i < number.size(); ++i) {
    const size_t place = number.size() - 1 - i;
    out[place / 8] |= uint64_t{static_cast<uint8_t>(number[i])} << (place % 8 * 8);
  }
  return true;
}

ByteString to_bytes(const uint64_t* words, uint32_t width_bits) {
  ByteString bytes;
  for (size_t place = (size_t{width_bits} + 7) / 8; place > 0; --place) {
    const auto byte = static_cast<char>(words[(place - 1) / 8] >> ((place - 1) % 8 * 8));
    if (byte != 0 || !bytes.empty() || place == 1) bytes.push_back(byte);
  }
  return bytes;
}

ByteString to_bytes(uint64_t value) {
  return to_bytes(&value, 64);
}

std::string to_hex(const uint64_t* words, uint32_t width_bits) {
  static constexpr std::array<char, 17> kDigits{"0123456789abcdef"};
  std::string text = "0x";
  for (size_t place = (size_t{width_bits} + 3) / 4; place > 0; --place) {
    const size_t digit = words[(place - 1) / 16] >> ((place - 1) % 16 * 4) & 15;
    if (digit != 0 || text.size() > 2 || place == 1) text.push_back(kDigits[digit]);
  }
  return text;
}

}  // namespace orrery::p4
