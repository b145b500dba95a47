// SPDX-License-Identifier: Apache-2.0
// Rewrites of addresses and ports in place, with every checksum that covers them.
#pragma once

#include <cstdint>
#include <optional>

#include "nfs/nat/port_map.h"
#include "nfs/nf_core.h"

namespace orrery::nat {

// One end of a transport flow: address and port, or address and ICMP query identifier.
struct Endpoint {
  uint32_t address;
  uint16_t port;
};

enum class Side : uint8_t { kSource, kDestination };

inline constexpr uint8_t kProtoIcmp = 1;
inline constexpr uint8_t kProtoTcp = 6;
inline constexpr uint8_t kProtoUdp = 17;

inline bool is_icmp_query(uint8_t type) {
  return type == 8 || type == 13 || type == 15 || type == 17;
}
inline bool is_icmp_reply(uint8_t type) {
  return type == 0 || type == 14 || type == 16 || type == 18;
}
inline bool is_icmp_error(uint8_t type) {
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// Replaces one end of a TCP, UDP or ICMP query packet; `packet.parsed` follows. Precondition: kIpTransport.
void rewrite_endpoint(NfPacket& packet, Side side, Endpoint to);

// The packet that an ICMP error quotes: where it lies and its two ends.
struct QuotedPacket {
  uint16_t l3_offset;
  uint16_t l4_offset;
  uint16_t l4_length;  // bytes quoted of the transport header and beyond
  uint8_t proto;
  Endpoint source;
  Endpoint destination;
};

// Nothing when the quotation is cut before its ports or holds nothing that has ports.
// Precondition: kIpTransport and an ICMP error.
std::optional<QuotedPacket> quoted_packet(const NfPacket& packet);

// Replaces `outer_side`'s address of an ICMP error by `to.address`, and the opposite end of the quoted packet by `to`.
void rewrite_icmp_error(NfPacket& packet, const QuotedPacket& quoted, Side outer_side, Endpoint to);

}  // namespace orrery::nat
