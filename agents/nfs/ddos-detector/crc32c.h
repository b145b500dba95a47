// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "support/packet.h"

namespace orrery::ddos_detector {

inline constexpr std::array<uint32_t, 256> kCrc32cTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    table[byte] = crc;
  }
  return table;
}();

// CRC-32C (RFC 3720 appendix B.4).
constexpr uint32_t crc32c(std::span<const uint8_t> bytes) {
  uint32_t crc = UINT32_MAX;
  for (uint8_t byte : bytes) crc = crc >> 8 ^ kCrc32cTable[(crc ^ byte) & 255];
  return ~crc;
}

// Of an address as it stands in a packet.
constexpr uint32_t crc32c(uint32_t address) {
  const std::array<uint8_t, 4> bytes{static_cast<uint8_t>(address >> 24), static_cast<uint8_t>(address >> 16),
                                     static_cast<uint8_t>(address >> 8), static_cast<uint8_t>(address)};
  return crc32c(bytes);
}
constexpr uint32_t crc32c(Ipv6Address address) {
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<uint8_t>(address.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<uint8_t>(address.low >> (56 - 8 * i));
  }
  return crc32c(bytes);
}

}  // namespace orrery::ddos_detector
