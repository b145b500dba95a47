// SPDX-License-Identifier: Apache-2.0
// What is ambiguous about a packet by itself, and how it is mended.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "nfs/nf_core.h"

namespace orrery::traffic_normalizer {

enum class Finding : uint8_t {
  kHeaderChecksum,     // of IPv4
  kTransportChecksum,  // of TCP, UDP, ICMP and ICMPv6, where the packet is whole
  kTcpFlags,           // a combination that no TCP sends
  kTinyFragment,       // a first fragment without the whole transport header, or one that begins within it
  kOverlap,            // fragments that overlap or contradict each other
  kReservedBits,       // of the IPv4 flags, or of TCP
  kDfFragment,         // an IPv4 fragment that must not be one
  kIpOptions,          // IPv4 options; IPv6 hop-by-hop and destination options, and routing headers
  kLowTtl,             // TTL or hop limit below the floor
  kUrgent,             // URG, or an urgent pointer without it
};
inline constexpr size_t kFindings = 10;
inline constexpr std::array<std::string_view, kFindings> kFindingNames = {
    "header_checksum", "transport_checksum", "tcp_flags",  "tiny_fragments", "overlapping_fragments",
    "reserved_bits",   "df_fragments",       "ip_options", "low_ttl",        "urgent_pointer"};

// A set of findings.
class Findings {
 public:
  void add(Finding finding) { bits_ = static_cast<uint16_t>(bits_ | bit(finding)); }
  bool has(Finding finding) const { return (bits_ & bit(finding)) != 0; }
  bool empty() const { return bits_ == 0; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (uint16_t left = bits_; left != 0; left = static_cast<uint16_t>(left & (left - 1)))
      visit(static_cast<Finding>(__builtin_ctz(left)));
  }
  Findings operator&(const Findings& other) const {
    Findings both;
    both.bits_ = static_cast<uint16_t>(bits_ & other.bits_);
    return both;
  }
  bool operator==(const Findings&) const = default;

 private:
  static uint16_t bit(Finding finding) { return static_cast<uint16_t>(1u << static_cast<unsigned>(finding)); }

  uint16_t bits_ = 0;
};

// All but overlaps, which no packet shows by itself. `wanted`: those that are looked for. Preconditions: the packet is
// of IP and not malformed.
Findings examine(const NfPacket& packet, Findings wanted, uint8_t min_ttl);

// A first fragment that is too short for its headers; the parser has refused it. Precondition: malformed.
bool is_tiny_fragment(const NfPacket& packet);

// Mends what can be mended, with the checksums: the bits are cleared, options become padding, TTLs rise to min_ttl.
// A checksum that was wrong stays so. Precondition: examine() found these.
void mend(NfPacket& packet, Findings findings, uint8_t min_ttl);

// Whether the packet has a routing header of type 0 on its way through it, which cannot be mended (RFC 5095).
bool has_source_route(const NfPacket& packet);

}  // namespace orrery::traffic_normalizer
