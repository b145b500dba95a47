// SPDX-License-Identifier: Apache-2.0
// Steering between servers by MAC chaining (docs/architecture.md, life of a packet): on its way to a hop a frame has
// destination `02:0e:HH:HH:MM:MM` (hop, metadata word) and source `06:TT:TT:TT:TT:TT`, the stamp. That is the ingress
// time in ns modulo 2^40, or the identity of a packet of which a mirror made copies: the same time with its low 10 bits
// replaced by a number, so that the time is exact to about 1 us.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "support/checksum.h"

namespace orrery {

constexpr uint32_t kEthernetHeader = 14;
constexpr uint32_t kMinHop = 1;
constexpr uint32_t kMaxHop = 0xfffe;

using MacAddress = std::array<uint8_t, 6>;

struct HopTag {
  uint16_t hop;
  uint16_t metadata;
};

// Preconditions of all: `frame` has at least kEthernetHeader bytes.

inline bool read_hop_tag(const uint8_t* frame, HopTag& tag) {
  if (frame[0] != 0x02 || frame[1] != 0x0e) return false;
  tag = {load_be16(frame + 2), load_be16(frame + 4)};
  return true;
}

// Precondition: the frame has a tag.
inline void write_metadata(uint8_t* frame, uint16_t metadata) {
  store_be16(frame + 4, metadata);
}

constexpr uint64_t kStampMask = (uint64_t{1} << 40) - 1;
// Of a stamp that is an identity: the number, the rest is time.
constexpr uint64_t kIdentityNumberMask = 0x3ff;

// Stamp of the source MAC; 0: none.
inline uint64_t read_stamp(const uint8_t* frame) {
  return frame[6] == 0x06 ? (uint64_t{frame[7]} << 32) | load_be32(frame + 8) : 0;
}

// A frame without a stamp enters its first engine now; a time ahead of `now_ns` (another engine's clock runs a little
// ahead) counts as now.
inline uint64_t ingress_of_stamp(uint64_t stamp, uint64_t now_ns) {
  const uint64_t age = (now_ns - stamp) & kStampMask;
  if (stamp == 0 || age > now_ns || age >= (uint64_t{1} << 39)) return now_ns;
  return now_ns - age;
}

inline uint64_t read_ingress_ns(const uint8_t* frame, uint64_t now_ns) {
  return ingress_of_stamp(read_stamp(frame), now_ns);
}

// Only the low 40 bits of the stamp are written.
inline void write_hop_tag(uint8_t* frame, HopTag tag, uint64_t stamp) {
  frame[0] = 0x02;
  frame[1] = 0x0e;
  store_be16(frame + 2, tag.hop);
  store_be16(frame + 4, tag.metadata);
  frame[6] = 0x06;
  frame[7] = static_cast<uint8_t>(stamp >> 32);
  store_be32(frame + 8, static_cast<uint32_t>(stamp));
}

inline void write_macs(uint8_t* frame, const MacAddress& destination, const MacAddress& source) {
  std::memcpy(frame, destination.data(), 6);
  std::memcpy(frame + 6, source.data(), 6);
}

}  // namespace orrery
