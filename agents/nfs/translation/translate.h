// SPDX-License-Identifier: Apache-2.0
// Rewrites of addresses and ports in place, with every checksum that covers them, of either IP version.
#pragma once

#include <cstdint>
#include <optional>

#include "nfs/nf_core.h"

namespace orrery {

// One end of a transport flow: address and port, or address and ICMP query identifier. IPv4 addresses are IPv4-mapped.
struct Endpoint {
  Ipv6Address address;
  uint16_t port;

  bool operator==(const Endpoint&) const = default;
};

enum class Side : uint8_t { kSource, kDestination };

inline constexpr uint8_t kProtoIcmp = 1;
inline constexpr uint8_t kProtoTcp = 6;
inline constexpr uint8_t kProtoUdp = 17;
inline constexpr uint8_t kProtoIcmpv6 = 58;

// Of ICMP, or of ICMPv6 over IPv6.
inline bool is_icmp_query(uint8_t type, uint8_t ip_version = 4) {
  return ip_version == 6 ? type == 128 : type == 8 || type == 13 || type == 15 || type == 17;
}
inline bool is_icmp_reply(uint8_t type, uint8_t ip_version = 4) {
  return ip_version == 6 ? type == 129 : type == 0 || type == 14 || type == 16 || type == 18;
}
inline bool is_icmp_error(uint8_t type, uint8_t ip_version = 4) {
  return ip_version == 6 ? type >= 1 && type <= 4 : (type >= 3 && type <= 5) || type == 11 || type == 12;
}
// Whether the packet is one of the ICMP of its IP version.
inline bool is_icmp(const ParsedPacket& p) {
  return p.ip_proto == (p.ip_version == 6 ? kProtoIcmpv6 : kProtoIcmp);
}

// Replaces one end of a TCP, UDP or ICMP query packet; `packet.parsed` follows. Precondition: kIpTransport.
void rewrite_endpoint(NfPacket& packet, Side side, const Endpoint& to);

// Replaces one address of any IP packet but a malformed one; `packet.parsed` follows. In a fragment behind the first
// there is no checksum to follow.
void rewrite_address(NfPacket& packet, Side side, const Ipv6Address& to);

// The packet that an ICMP error quotes: where it lies and its two ends.
struct QuotedPacket {
  uint16_t l3_offset;
  uint16_t l4_offset;
  uint16_t l4_length;  // bytes quoted of the transport header and beyond
  uint8_t proto;
  bool has_ports;  // else they are 0: of another protocol, or a fragment behind the first
  Endpoint source;
  Endpoint destination;
};

// Nothing when the quotation is cut before the first 8 bytes behind its IP headers (RFC 792).
// Precondition: kIpTransport and an ICMP error.
std::optional<QuotedPacket> quoted_ip_packet(const NfPacket& packet);

// The same, and nothing when it has no ports.
std::optional<QuotedPacket> quoted_packet(const NfPacket& packet);

// Replaces one end of the quoted packet, of one without ports its address.
void rewrite_quoted(NfPacket& packet, const QuotedPacket& quoted, Side side, const Endpoint& to);

// Replaces `outer_side`'s address of an ICMP error by `to.address`, and the opposite end of the quoted packet by `to`.
void rewrite_icmp_error(NfPacket& packet, const QuotedPacket& quoted, Side outer_side, const Endpoint& to);

}  // namespace orrery
