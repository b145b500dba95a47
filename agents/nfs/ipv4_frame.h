// SPDX-License-Identifier: Apache-2.0
// How NFs that boards run too tell frames apart (fpga/README.md, "What the modules do").
#pragma once

#include "nfs/nf_core.h"
#include "support/flow_table.h"

namespace orrery {

inline constexpr uint8_t kTcpFin = 0x01;
inline constexpr uint8_t kTcpSyn = 0x02;
inline constexpr uint8_t kTcpRst = 0x04;
inline constexpr uint8_t kTcpAck = 0x10;

// By EtherType, whether the packet is well-formed or not; a frame without a whole Ethernet header is not IPv4.
inline bool is_ipv4(const ParsedPacket& p) {
  return p.kind != PacketKind::kNonIp && p.l3_offset != 0;
}

// A TCP segment whose header is at hand: not a fragment behind the first.
inline bool is_tcp(const ParsedPacket& p) {
  return p.kind == PacketKind::kIpTransport && p.ip_proto == 6;
}

// Precondition: is_tcp().
inline uint8_t tcp_flags(const NfPacket& packet) {
  return packet.data[packet.parsed.l4_offset + 13];
}

// The flow of a packet as its forward direction names it: a return packet has the ends exchanged.
inline FlowTuple flow_of(const ParsedPacket& p, Direction in) {
  if (in == Direction::kForward) return FlowTuple::of(p);
  return {p.ip_dst, p.ip_src, p.dst_port, p.src_port, p.ip_proto};
}

}  // namespace orrery
