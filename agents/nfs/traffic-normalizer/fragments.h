// SPDX-License-Identifier: Apache-2.0
// Which parts of each datagram have come by, so that no two receivers put fragments together differently.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "nfs/flow_store.h"
#include "nfs/nf_core.h"
#include "nfs/traffic-normalizer/datagram_key.h"
#include "support/checksum.h"

namespace orrery::traffic_normalizer {

inline constexpr uint32_t kMaxDatagrams = 16384;
// Of 8 bytes; a datagram is shorter than 64 KiB.
inline constexpr size_t kUnits = 8192;

// A fragment's part of its datagram, in units; the last one may end within a unit.
struct FragmentPart {
  uint32_t first;
  uint32_t end;
  uint32_t end_bytes;  // of the datagram up to there
  bool more;

  // Precondition: a fragment that is not malformed.
  static FragmentPart of(const NfPacket& packet) {
    const ParsedPacket& p = packet.parsed;
    const uint8_t* ip = packet.data + p.l3_offset;
    uint32_t offset, length;
    bool more;
    if (p.ip_version == 4) {
      const uint16_t word = load_be16(ip + 6);
      offset = (word & 0x1fffu) << 3;
      more = (word & 0x2000) != 0;
      length = load_be16(ip + 2) - ((ip[0] & 0x0fu) << 2);
    } else {
      const uint16_t word = load_be16(packet.data + p.fragment_header_offset + 2);
      offset = word & 0xfff8u;
      more = (word & 1) != 0;
      length = load_be16(ip + 4) + 40u - (p.fragment_header_offset + 8u - p.l3_offset);
    }
    return {offset / 8, (offset + length + 7) / 8, offset + length, more};
  }
};

enum class PartVerdict : uint8_t {
  kNew,
  kComplete,   // new, and the last that was missing
  kDuplicate,  // a fragment of the same extent has come by
  kConflict,   // some of it has come by, or it contradicts the datagram's end, or has no whole units
};

class Datagram {
 public:
  // Takes the part in unless it is a duplicate or conflicts.
  PartVerdict take(const FragmentPart& part) {
    if (part.end <= part.first || (part.more && part.end_bytes % 8 != 0)) return PartVerdict::kConflict;
    if (!part.more && end_bytes_ != 0 && part.end_bytes != end_bytes_) return PartVerdict::kConflict;
    if (!part.more && part.end_bytes < highest_bytes_) return PartVerdict::kConflict;
    if (part.more && end_bytes_ != 0 && part.end_bytes >= end_bytes_) return PartVerdict::kConflict;
    uint32_t known = 0;
    const auto count = [&known](uint64_t word, uint64_t mask) {
      known += static_cast<uint32_t>(std::popcount(word & mask));
    };
    for_each_word(seen_, part.first, part.end, count);
    if (known != 0) return is_known(part, known) ? PartVerdict::kDuplicate : PartVerdict::kConflict;
    for_each_word(seen_, part.first, part.end, [](uint64_t& word, uint64_t mask) { word |= mask; });
    set(starts_, part.first);
    units_ += part.end - part.first;
    highest_bytes_ = std::max(highest_bytes_, part.end_bytes);
    if (!part.more) end_bytes_ = part.end_bytes;
    return end_bytes_ != 0 && units_ == (end_bytes_ + 7) / 8 ? PartVerdict::kComplete : PartVerdict::kNew;
  }

  // After an overlap, where all of the datagram must go (RFC 5722 4).
  void spoil() { spoilt_ = true; }
  bool is_spoilt() const { return spoilt_; }

 private:
  using Bits = std::array<uint64_t, kUnits / 64>;

  static bool get(const Bits& bits, uint32_t unit) { return (bits[unit / 64] >> unit % 64 & 1) != 0; }
  static void set(Bits& bits, uint32_t unit) { bits[unit / 64] |= uint64_t{1} << unit % 64; }

  template <class Visit>
  static void for_each_word(Bits& bits, uint32_t first, uint32_t end, Visit&& visit) {
    for (uint32_t at = first; at < end;) {
      const uint32_t bit = at % 64, count = std::min(64 - bit, end - at);
      const uint64_t ones = count == 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
      visit(bits[at / 64], ones << bit);
      at += count;
    }
  }

  // Whether one fragment has brought just this part, of which so many units are known.
  bool is_known(const FragmentPart& part, uint32_t known) {
    uint32_t starts = 0;
    for_each_word(starts_, part.first, part.end, [&starts](uint64_t word, uint64_t mask) {
      starts += static_cast<uint32_t>(std::popcount(word & mask));
    });
    const bool ends_there = part.end == kUnits || !get(seen_, part.end) || get(starts_, part.end);
    return known == part.end - part.first && starts == 1 && get(starts_, part.first) && ends_there;
  }

  Bits seen_{};
  Bits starts_{};               // units with which a fragment began
  uint32_t units_ = 0;          // that have come by
  uint32_t highest_bytes_ = 0;  // end of the part farthest behind
  uint32_t end_bytes_ = 0;      // length of the datagram; 0: its last fragment has not come by
  bool spoilt_ = false;
};

using Datagrams = FlowStore<DatagramKey, Datagram>;

}  // namespace orrery::traffic_normalizer
