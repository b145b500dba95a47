// SPDX-License-Identifier: Apache-2.0
// How NFs that boards run too tell frames apart (fpga/README.md, "What the modules do").
#pragma once

#include "nfs/nf_core.h"
#include "support/flow_tuple.h"

namespace orrery {

inline constexpr uint8_t kTcpFin = 0x01;
inline constexpr uint8_t kTcpSyn = 0x02;
inline constexpr uint8_t kTcpRst = 0x04;
inline constexpr uint8_t kTcpAck = 0x10;

// By EtherType, whether the packet is well-formed or not; a frame without a whole Ethernet header is not IP.
inline bool is_ip(const ParsedPacket& p) {
  return p.ip_version != 0;
}

// A TCP segment whose header is at hand: not a fragment behind the first.
inline bool is_tcp(const ParsedPacket& p) {
  return p.kind == PacketKind::kIpTransport && p.ip_proto == 6;
}

// Precondition: is_tcp().
inline uint8_t tcp_flags(const NfPacket& packet) {
  return packet.data[packet.parsed.l4_offset + 13];
}

// Fills in the flow of a packet as its forward direction names it: a return packet has the ends exchanged.
inline void set_flow(FlowTuple& flow, const ParsedPacket& p, Direction in) {
  in == Direction::kForward ? flow.set(p) : flow.set_turned(p);
}

}  // namespace orrery
