// SPDX-License-Identifier: Apache-2.0
// What the load balancer reads in packets.
#pragma once

#include "nfs/load-balancer/connections.h"
#include "nfs/translation/translate.h"
#include "support/checksum.h"

namespace orrery::load_balancer {

inline Ipv6Address source_of(const ParsedPacket& p) {
  return p.ip_version == 6 ? p.ipv6_src : ipv4_mapped(p.ip_src);
}
inline Ipv6Address destination_of(const ParsedPacket& p) {
  return p.ip_version == 6 ? p.ipv6_dst : ipv4_mapped(p.ip_dst);
}

inline uint8_t icmp_type(const NfPacket& packet) {
  return packet.data[packet.parsed.l4_offset];
}
inline uint16_t icmp_id(const NfPacket& packet) {
  return load_be16(packet.data + packet.parsed.l4_offset + 4);
}
// An error that says that nobody is there, or nobody who listens (RFC 792, RFC 4443 3.1); not one about a length.
inline bool says_unreachable(const NfPacket& packet) {
  const uint8_t* icmp = packet.data + packet.parsed.l4_offset;
  return packet.parsed.ip_version == 6 ? icmp[0] == 1 : icmp[0] == 3 && icmp[1] != 4;
}
// What answers a SYN at a closed port: to a segment that acknowledges anything, an open one says RST without ACK
// (RFC 9293 3.10.7), whatever SYN came before it.
inline bool refuses_syn(const NfPacket& packet, Segment segment) {
  return segment == Segment::kReset && (tcp_flags(packet) & kTcpAck) != 0;
}
// The first that a back end says, other than that it is not there.
inline bool answers(ConnectionState state, Segment segment) {
  if (state == ConnectionState::kSynSent) return segment == Segment::kSynAck;
  return state == ConnectionState::kOpening && segment != Segment::kReset;
}

}  // namespace orrery::load_balancer
