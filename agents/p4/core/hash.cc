// SPDX-License-Identifier: Apache-2.0
#include "p4/core/hash.h"

#include <algorithm>

#include "support/checksum.h"

namespace orrery::p4 {

namespace {

uint32_t reflected(uint32_t value, uint32_t bits) {
  uint32_t out = 0;
  for (uint32_t i = 0; i < bits; ++i) out |= (value >> i & 1) << (bits - 1 - i);
  return out;
}

uint32_t width_of(HashKind kind) {
  return kind == HashKind::kCrc32 || kind == HashKind::kCrc32Custom ? 32 : 16;
}

const CrcParameters& parameters_of(HashKind kind) {
  if (kind == HashKind::kCrcCcitt) return kCrcCcitt;
  return width_of(kind) == 32 ? kCrc32 : kCrc16;
}

uint64_t xor16(std::span<const uint8_t> bytes) {
  uint32_t out = 0;
  for (size_t i = 0; i < bytes.size(); ++i) out ^= uint32_t{bytes[i]} << (i % 2 == 0 ? 8 : 0);
  return out;
}

uint64_t identity(std::span<const uint8_t> bytes) {
  uint64_t out = 0;
  for (const uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 8))) out = out << 8 | byte;
  return out;
}

}  // namespace

// Kept reflected where the data are, so that both kinds work on whole bytes.
Crc::Crc(uint32_t width_bits, const CrcParameters& parameters) : width_(width_bits), parameters_(parameters) {
  const uint32_t mask = static_cast<uint32_t>(low_mask(width_));
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = parameters_.reflect_data ? byte : byte << (width_ - 8);
    const uint32_t backwards = reflected(parameters_.polynomial, width_);
    for (int bit = 0; bit < 8; ++bit) {
      if (parameters_.reflect_data) {
        rest = rest >> 1 ^ ((rest & 1) != 0 ? backwards : 0);
      } else {
        rest = (rest << 1 ^ ((rest >> (width_ - 1) & 1) != 0 ? parameters_.polynomial : 0)) & mask;
      }
    }
    table_[byte] = rest;
  }
}

uint32_t Crc::of(std::span<const uint8_t> bytes) const {
  const uint32_t mask = static_cast<uint32_t>(low_mask(width_));
  const bool backwards = parameters_.reflect_data;
  uint32_t rest = backwards ? reflected(parameters_.initial, width_) : parameters_.initial & mask;
  for (const uint8_t byte : bytes) {
    if (backwards) {
      rest = rest >> 8 ^ table_[(rest ^ byte) & 0xff];
    } else {
      rest = (rest << 8 & mask) ^ table_[(rest >> (width_ - 8) ^ byte) & 0xff];
    }
  }
  if (parameters_.reflect_data != parameters_.reflect_remainder) rest = reflected(rest, width_);
  return (rest ^ parameters_.final_xor) & mask;
}

Hash::Hash(HashKind kind) : kind_(kind), crc_(width_of(kind), parameters_of(kind)) {}

void Hash::set_parameters(const CrcParameters& parameters) {
  crc_ = Crc(width_of(kind_), parameters);
}

uint64_t Hash::of(std::span<const uint8_t> bytes) const {
  switch (kind_) {
    case HashKind::kCsum16:
      return checksum(bytes);
    case HashKind::kXor16:
      return xor16(bytes);
    case HashKind::kIdentity:
      return identity(bytes);
    default:
      return crc_.of(bytes);
  }
}

}  // namespace orrery::p4
