// SPDX-License-Identifier: Apache-2.0
// Where the headers of an Ethernet frame lie, checked against its real length.
#pragma once

#include <cstdint>
#include <span>

namespace orrery {

enum class PacketKind : uint8_t {
  kMalformed,    // too short, or a length field that contradicts the frame
  kNonIp,        // well-formed Ethernet that is not IPv4
  kIpOther,      // IPv4 without readable ports: other protocol, or a fragment behind the first
  kIpTransport,  // IPv4 with TCP, UDP or ICMP header present in full
};

// Addresses and ports are in host byte order; 0 where the packet has none. Offsets are from the start of the frame.
struct ParsedPacket {
  PacketKind kind = PacketKind::kMalformed;
  bool fragment = false;  // any fragment, the first included
  uint8_t ip_proto = 0;
  uint16_t l3_offset = 0;
  uint16_t l4_offset = 0;
  uint16_t payload_offset = 0;
  uint16_t payload_length = 0;
  uint32_t ip_src = 0;
  uint32_t ip_dst = 0;
  uint16_t src_port = 0;
  uint16_t dst_port = 0;
};

// Never reads beyond `frame`. One 802.1Q tag is skipped.
ParsedPacket parse_packet(std::span<const uint8_t> frame);

}  // namespace orrery
