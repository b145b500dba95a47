// SPDX-License-Identifier: Apache-2.0
// Frames for tests: right ones, and all the ways in which a frame can be wrong.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace orrery::testing {

using Frame = std::vector<uint8_t>;
using Rng = std::mt19937_64;

inline constexpr uint8_t kIcmp = 1;
inline constexpr uint8_t kTcp = 6;
inline constexpr uint8_t kUdp = 17;
inline constexpr uint8_t kGre = 47;

// What build_frame() puts into a frame; lengths and checksums follow.
struct FrameSpec {
  uint32_t src = 0x0a000001;
  uint32_t dst = 0x0a000002;
  uint16_t src_port = 1234;  // of ICMP: the identifier
  uint16_t dst_port = 80;
  uint8_t proto = kTcp;
  std::string payload = "GET / HTTP/1.1\r\n";
  bool vlan = false;
  uint8_t ip_option_words = 0;   // 0 to 10
  uint16_t fragment_offset = 0;  // in units of 8 bytes; not 0: the payload follows the IP header directly
  bool more_fragments = false;
  bool udp_checksum = true;
  uint8_t icmp_type = 8;
  uint16_t padding = 0;  // bytes behind the IP packet
};

Frame build_frame(const FrameSpec& spec);

// A TCP, UDP or ICMP packet within the given prefixes, sometimes with VLAN tag, options, padding, fragments.
FrameSpec random_spec(Rng& rng);

// An ICMP error from `router` to the source of `quoted`, which quotes its IP header and `quoted_bytes` behind it.
Frame build_icmp_error(uint32_t router, uint8_t type, const Frame& quoted, size_t quoted_bytes);

// Verifies IPv4, TCP, UDP and ICMP checksums by full computation; of an ICMP error also those of what it quotes, as far
// as they can be known. Precondition: build_frame() or build_icmp_error() made the frame.
bool checksums_hold(const Frame& frame);

Frame arp_frame();

// Every truncation of valid frames, contradictory lengths, overlapping fragments, random bytes. Some are valid by luck.
std::vector<Frame> malformed_corpus(Rng& rng);

}  // namespace orrery::testing
