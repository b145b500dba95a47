// SPDX-License-Identifier: Apache-2.0
// Frames for tests: right ones, and all the ways in which a frame can be wrong.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/packet.h"

namespace orrery::testing {

using Frame = std::vector<uint8_t>;
using Rng = std::mt19937_64;

inline constexpr uint8_t kIcmp = 1;
inline constexpr uint8_t kTcp = 6;
inline constexpr uint8_t kUdp = 17;
inline constexpr uint8_t kGre = 47;
inline constexpr uint8_t kIcmpv6 = 58;

// Extension headers of IPv6.
inline constexpr uint8_t kHopByHop = 0;
inline constexpr uint8_t kRouting = 43;
inline constexpr uint8_t kFragmentHeader = 44;
inline constexpr uint8_t kEsp = 50;
inline constexpr uint8_t kAuthentication = 51;
inline constexpr uint8_t kNoNextHeader = 59;
inline constexpr uint8_t kDestinationOptions = 60;

struct ExtensionHeader {
  uint8_t type;
  uint8_t units = 1;          // of 8 bytes; an authentication header has at least 2, a fragment header 1
  uint8_t segments_left = 0;  // of a routing header
};

// The prefix of IPv6 addresses in tests.
inline constexpr Ipv6Address kTestPrefix{0x20010db8'00000000, 0};

// The address of a test packet over IPv6 that has an IPv4 address in its specification.
constexpr Ipv6Address ipv6_of(uint32_t ipv4) {
  return {kTestPrefix.high, kTestPrefix.low | ipv4};
}

// What build_frame() puts into a frame; lengths and checksums follow.
struct FrameSpec {
  uint8_t ip_version = 4;  // 6: the addresses are ipv6_of() these
  uint32_t src = 0x0a000001;
  uint32_t dst = 0x0a000002;
  uint16_t src_port = 1234;  // of ICMP: the identifier
  uint16_t dst_port = 80;
  uint8_t proto = kTcp;
  std::string payload = "GET / HTTP/1.1\r\n";
  bool service_vlan = false;  // an 802.1ad tag, in front of `vlan` where there are both
  bool vlan = false;
  uint8_t ip_option_words = 0;                // 0 to 10; IPv4
  std::vector<ExtensionHeader> extensions{};  // IPv6; a fragment has its header behind them, unless it is among them
  uint16_t fragment_offset = 0;               // in units of 8 bytes; not 0: the payload follows the IP header directly
  bool more_fragments = false;
  bool udp_checksum = true;
  uint8_t icmp_type = 8;
  uint16_t padding = 0;  // bytes behind the IP packet
};

Frame build_frame(const FrameSpec& spec);

// A TCP, UDP or ICMP packet over IPv4 within the given prefixes, sometimes with VLAN tag, options, padding.
FrameSpec random_spec(Rng& rng);

// The same packet over IPv6: ICMP becomes ICMPv6, options become a destination options header.
FrameSpec over_ipv6(FrameSpec spec);

// Such a packet with VLAN tags and extension headers at random.
FrameSpec random_ipv6_spec(Rng& rng);

// An ICMP or ICMPv6 error from `router` to the source of `quoted`, which quotes its IP headers and `quoted_bytes`
// behind them.
Frame build_icmp_error(uint32_t router, uint8_t type, const Frame& quoted, size_t quoted_bytes);

// Verifies IPv4, TCP, UDP, ICMP and ICMPv6 checksums by full computation; of an ICMP error also those of what it
// quotes, as far as they can be known. Precondition: build_frame() or build_icmp_error() made the frame.
bool checksums_hold(const Frame& frame);

Frame arp_frame();

// Every truncation of valid frames, contradictory lengths, overlapping fragments, random bytes. Some are valid by luck.
std::vector<Frame> malformed_corpus(Rng& rng);

// The same of IPv6 and VLAN tags: chains of extension headers that are cut, too long, out of order or in a loop.
std::vector<Frame> malformed_ipv6_corpus(Rng& rng);

}  // namespace orrery::testing
