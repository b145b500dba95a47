// SPDX-License-Identifier: Apache-2.0
// Where the headers of an Ethernet frame lie, checked against its real length.
#pragma once

#include <cstdint>
#include <span>

namespace orrery {

enum class PacketKind : uint8_t {
  kMalformed,    // too short, or a length field that contradicts the frame
  kNonIp,        // well-formed Ethernet that is neither IPv4 nor IPv6
  kIpOther,      // IP without readable ports: other protocol, or a fragment behind the first
  kIpTransport,  // IP with TCP, UDP or ICMP (ICMPv6 over IPv6) header present in full
};

// Two 64-bit words in host byte order.
struct Ipv6Address {
  uint64_t high;
  uint64_t low;

  bool operator==(const Ipv6Address&) const = default;
};

// An IPv4 address where both versions have their place (RFC 4291 2.5.5.2). No packet has it in its IPv6 header.
constexpr Ipv6Address ipv4_mapped(uint32_t address) {
  return {0, uint64_t{0xffff} << 32 | address};
}
constexpr bool is_ipv4_mapped(const Ipv6Address& address) {
  return address.high == 0 && address.low >> 32 == 0xffff;
}

// Addresses and ports are in host byte order; 0 where the packet has none. Offsets are from the start of the frame.
struct ParsedPacket {
  PacketKind kind = PacketKind::kMalformed;
  uint8_t ip_version = 0;  // 4 or 6 by the EtherType, well-formed or not; else 0
  bool fragment = false;   // any fragment, the first included; not an atomic one (RFC 6946)
  // Upper-layer protocol, behind the extension headers. In a fragment behind the first, what its fragment header names,
  // which may be an extension header.
  uint8_t ip_proto = 0;
  uint16_t l3_offset = 0;
  uint16_t l4_offset = 0;  // behind the extension headers
  uint16_t payload_offset = 0;
  uint16_t payload_length = 0;
  uint32_t ip_src = 0;  // of IPv4
  uint32_t ip_dst = 0;
  uint16_t src_port = 0;
  uint16_t dst_port = 0;
  uint16_t fragment_header_offset = 0;  // IPv6; 0: none
  bool authentication_header = false;   // IPv6, in front of the upper layer
  bool segments_left = false;           // IPv6, in a routing header: ipv6_dst is not where the packet ends
  Ipv6Address ipv6_src;                 // meaningful only where has_ipv6() holds
  Ipv6Address ipv6_dst;

  // Whether ipv6_src and ipv6_dst are there.
  bool has_ipv6() const { return ip_version == 6 && kind != PacketKind::kMalformed; }
  // Length by the IP header. Precondition: kIpOther or kIpTransport.
  uint16_t ip_length() const { return static_cast<uint16_t>(payload_offset + payload_length - l3_offset); }
};

// Extension headers of an IPv6 packet that are followed, at most; one with more is malformed (RFC 8504 5.3).
inline constexpr int kMaxExtensionHeaders = 8;
inline constexpr uint16_t kMaxExtensionBytes = 2048;

// Never reads beyond `frame`. Skips one or two VLAN tags (802.1Q, 802.1ad), and of IPv6 the hop-by-hop, routing,
// fragment, destination options and authentication headers. IPv6 packets with an IPv4-mapped address, which no packet
// may have (RFC 6890 2.2.3), are malformed.
ParsedPacket parse_packet(std::span<const uint8_t> frame);

}  // namespace orrery
