// SPDX-License-Identifier: Apache-2.0
#include "p4/service/values.h"

#include <bit>

namespace orrery::p4::service {
namespace {

uint8_t byte_at(std::string_view bytes, size_t index) {
  return static_cast<uint8_t>(bytes[index]);
}

// The byte with this significance, 0 the least.
uint8_t byte_from_end(std::string_view bytes, size_t significance) {
  return significance < bytes.size() ? byte_at(bytes, bytes.size() - 1 - significance) : uint8_t{0};
}

bool bit_at(std::string_view bytes, size_t index) {
  return ((byte_at(bytes, index / 8) >> (7 - index % 8)) & 1) != 0;
}

}  // namespace

std::string_view shortest(std::string_view bytes) {
  static constexpr std::string_view kZero("\0", 1);
  const size_t first = bytes.find_first_not_of('\0');
  return first == std::string_view::npos ? kZero : bytes.substr(first);
}

uint32_t bits_of(std::string_view bytes) {
  const std::string_view number = shortest(bytes);
  return static_cast<uint32_t>((number.size() - 1) * 8 + std::bit_width(byte_at(number, 0)));
}

std::string shown(std::string_view bytes) {
  static constexpr size_t kMost = 20;
  static constexpr char kDigits[] = "0123456789abcdef";
  const std::string_view number = shortest(bytes);
  std::string out = "0x";
  for (const char c : number.substr(0, kMost)) {
    const auto byte = static_cast<uint8_t>(c);
    if (out.size() > 2 || byte >= 16) out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  if (number.size() > kMost) out += "...";
  return out;
}

std::string fault_of(std::string_view bytes, uint32_t width) {
  if (bytes.empty()) return "is an empty byte string";
  if (bits_of(bytes) > width) return shown(bytes) + " has more than " + std::to_string(width) + " bits";
  return {};
}

ByteString checked(std::string_view bytes, uint32_t width, std::string_view field) {
  const std::string_view number = shortest(bytes);
  if (bytes.empty() || bits_of(number) > width)
    refuse(Code::OUT_OF_RANGE, std::string(field) + ": " + fault_of(bytes, width));
  return ByteString(number);
}

uint32_t to_u32(std::string_view bytes, std::string_view field) {
  uint32_t value = 0;
  for (const char c : checked(bytes, 32, field)) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

ByteString from_u32(uint32_t value) {
  return to_bytes(uint64_t{value});
}

int compare(std::string_view a, std::string_view b) {
  a = shortest(a);
  b = shortest(b);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

bool within(std::string_view value, std::string_view mask) {
  for (size_t i = 0; i < value.size(); ++i)
    if ((byte_from_end(value, i) & ~byte_from_end(mask, i)) != 0) return false;
  return true;
}

uint32_t trailing_zeros(std::string_view bytes, uint32_t width) {
  uint32_t zeros = 0;
  for (size_t i = 0; i < bytes.size(); ++i, zeros += 8)
    if (const uint8_t byte = byte_from_end(bytes, i); byte != 0)
      return zeros + static_cast<uint32_t>(std::countr_zero(byte));
  return width;
}

ByteString all_ones(uint32_t width) {
  return prefix_mask(width, width);
}

ByteString prefix_mask(uint32_t prefix_length, uint32_t width) {
  BitWriter bits;
  const uint32_t pad = (8 - width % 8) % 8;
  bits.add(std::string(1, '\0'), pad);
  for (uint32_t i = 0; i < width; ++i) bits.add(std::string(1, i < prefix_length ? '\1' : '\0'), 1);
  return ByteString(shortest(bits.bytes()));
}

ByteString unsigned_of(std::string_view bytes, uint32_t width, std::string_view field) {
  if (bytes.empty() || width == 0) refuse(Code::OUT_OF_RANGE, std::string(field) + ": is an empty byte string");
  const bool negative = bit_at(bytes, 0);
  // All bits above those of the type, and the sign bit itself, are copies of the sign.
  const size_t bits = bytes.size() * 8;
  const size_t copies = bits > width ? bits - width + 1 : 0;
  for (size_t i = 0; i < copies; ++i)
    if (bit_at(bytes, i) != negative)
      refuse(Code::OUT_OF_RANGE,
             std::string(field) + ": " + shown(bytes) + " does not fit into int<" + std::to_string(width) + ">");
  BitWriter out;
  out.add(std::string(1, '\0'), (8 - width % 8) % 8);
  for (size_t i = 0; i < width; ++i) {
    const bool bit = i + bits < width ? negative : bit_at(bytes, i + bits - width);
    out.add(std::string(1, bit ? '\1' : '\0'), 1);
  }
  return ByteString(shortest(out.bytes()));
}

ByteString signed_of(std::string_view bytes, uint32_t width) {
  const bool negative = width > 0 && bits_of(bytes) == width;
  std::string out;
  const size_t whole = (width + 7) / 8;
  for (size_t i = whole; i-- > 0;) {
    uint8_t byte = byte_from_end(bytes, i);
    if (negative && i + 1 == whole && width % 8 != 0) byte |= static_cast<uint8_t>(0xff << (width % 8));
    out += static_cast<char>(byte);
  }
  const auto redundant = [&] {
    const char sign = negative ? '\xff' : '\0';
    return out.size() > 1 && out[0] == sign && ((static_cast<uint8_t>(out[1]) & 0x80) != 0) == negative;
  };
  while (redundant()) out.erase(0, 1);
  return out.empty() ? ByteString(1, '\0') : out;
}

void BitWriter::add(std::string_view bytes, uint32_t width) {
  for (uint32_t left = width; left > 0;) {
    if (used_ == 0) bytes_ += '\0';
    const uint32_t room = 8 - used_;
    const uint32_t part = std::min(room, (left - 1) % 8 + 1);
    // The bits left-1 .. left-part of the number, which lie within one of its bytes or two.
    const uint32_t low = left - part;
    const auto two = static_cast<uint32_t>(byte_from_end(bytes, low / 8) | byte_from_end(bytes, low / 8 + 1) << 8);
    const uint32_t value = two >> (low % 8) & ((1U << part) - 1);
    bytes_.back() = static_cast<char>(static_cast<uint8_t>(bytes_.back()) | value << (room - part));
    used_ = (used_ + part) % 8;
    left -= part;
  }
}

ByteString BitReader::take(uint32_t width) {
  std::string out((width + 7) / 8, '\0');
  const size_t offset = out.size() * 8 - width;
  for (uint32_t i = 0; i < width; ++i, ++at_)
    if (bit_at(bytes_, at_))
      out[(offset + i) / 8] =
          static_cast<char>(static_cast<uint8_t>(out[(offset + i) / 8]) | 0x80 >> ((offset + i) % 8));
  return ByteString(shortest(out));
}

}  // namespace orrery::p4::service
