// SPDX-License-Identifier: Apache-2.0
// Internet checksum (RFC 1071) and its incremental update (RFC 1624). All values are 16-bit words in host byte order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace orrery {

// Big-endian access to packet bytes, at any alignment. The host is little-endian.
static_assert(std::endian::native == std::endian::little);
inline uint16_t load_be16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_bswap16(v);
}
inline uint32_t load_be32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_bswap32(v);
}
inline uint64_t load_be64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_bswap64(v);
}
inline void store_be16(uint8_t* p, uint16_t v) {
  v = __builtin_bswap16(v);
  std::memcpy(p, &v, sizeof(v));
}
inline void store_be32(uint8_t* p, uint32_t v) {
  v = __builtin_bswap32(v);
  std::memcpy(p, &v, sizeof(v));
}
inline void store_be64(uint8_t* p, uint64_t v) {
  v = __builtin_bswap64(v);
  std::memcpy(p, &v, sizeof(v));
}

// Sum of the 16-bit words, an odd last byte padded with zero; unfolded, so that sums can be added.
inline uint64_t checksum_sum(std::span<const uint8_t> bytes) {
  uint64_t sum = 0;
  size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2) sum += load_be16(&bytes[i]);
  if (i < bytes.size()) sum += uint32_t{bytes[i]} << 8;
  return sum;
}

inline uint16_t checksum_fold(uint64_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// Checksum to store over `bytes`, whose own checksum field must be zero; 0 when `bytes` already holds a right checksum.
inline uint16_t checksum(std::span<const uint8_t> bytes) {
  return static_cast<uint16_t>(~checksum_fold(checksum_sum(bytes)));
}

// Sum of the pseudo header of TCP and UDP over IPv4 (RFC 9293 3.1).
inline uint64_t pseudo_header_sum(uint32_t src, uint32_t dst, uint8_t proto, uint16_t l4_length) {
  return (src >> 16) + (src & 0xffff) + (dst >> 16) + (dst & 0xffff) + uint64_t{proto} + l4_length;
}

// The same over IPv6 (RFC 8200 8.1).
inline uint64_t pseudo_header_sum(std::span<const uint8_t, 32> addresses, uint8_t proto, uint16_t l4_length) {
  return checksum_sum(addresses) + uint64_t{proto} + l4_length;
}

// What a change of words does to a checksum over them; collect the changes, then apply them to each checksum (RFC 1624
// eqn. 3). A word must stand at an even offset of the checksummed range.
class ChecksumDelta {
 public:
  void change16(uint16_t from, uint16_t to) { sum_ += static_cast<uint16_t>(~from) + uint32_t{to}; }
  void change32(uint32_t from, uint32_t to) {
    change16(static_cast<uint16_t>(from >> 16), static_cast<uint16_t>(to >> 16));
    change16(static_cast<uint16_t>(from), static_cast<uint16_t>(to));
  }
  void add(const ChecksumDelta& other) { sum_ += other.sum_; }
  uint16_t apply(uint16_t old_checksum) const {
    return static_cast<uint16_t>(~checksum_fold(sum_ + static_cast<uint16_t>(~old_checksum)));
  }

 private:
  uint64_t sum_ = 0;
};

}  // namespace orrery
