// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "p4/program/code.h"

namespace orrery::p4 {

// As catalogues of CRCs give them (Williams, "A painless guide to CRC error detection algorithms").
struct CrcParameters {
  uint32_t polynomial;
  uint32_t initial;
  uint32_t final_xor;
  bool reflect_data;
  bool reflect_remainder;

  bool operator==(const CrcParameters&) const = default;
};

class Crc {
 public:
  Crc(uint32_t width_bits, const CrcParameters& parameters);

  uint32_t of(std::span<const uint8_t> bytes) const;

 private:
  uint32_t width_;  // bits, 16 or 32
  CrcParameters parameters_;
  std::array<uint32_t, 256> table_;
};

inline constexpr CrcParameters kCrc16{0x8005, 0, 0, true, true};                        // CRC-16/ARC
inline constexpr CrcParameters kCrc32{0x04c11db7, 0xffffffff, 0xffffffff, true, true};  // CRC-32/ISO-HDLC
inline constexpr CrcParameters kCrcCcitt{0x1021, 0xffff, 0, false, false};              // CRC-16/IBM-3740

// A custom CRC has the parameters of the usual one until others are set.
class Hash {
 public:
  explicit Hash(HashKind kind);

  HashKind kind() const { return kind_; }
  void set_parameters(const CrcParameters& parameters);
  uint64_t of(std::span<const uint8_t> bytes) const;

 private:
  HashKind kind_;
  Crc crc_;
};

}  // namespace orrery::p4
