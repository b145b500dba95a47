// SPDX-License-Identifier: Apache-2.0
// How long a mark on a 5-tuple lasts: as long as the connection that earned it. The next one, to which its client gives
// the same port, begins unmarked.
#pragma once

#include <cstdint>

#include "nfs/ip_frame.h"
#include "support/checksum.h"

namespace orrery::ids {

// Of one direction of a connection. All zero for a packet that is none: that neither moves nor ends a mark.
struct TcpSegment {
  uint32_t sequence = 0;       // of its first byte
  uint32_t next_sequence = 0;  // behind its last one
  uint8_t flags = 0;

  // Precondition: is_tcp().
  static TcpSegment of(const NfPacket& packet) {
    const uint32_t sequence = load_be32(packet.data + packet.parsed.l4_offset + 4);
    const uint8_t flags = tcp_flags(packet);
    const uint32_t length = packet.parsed.payload_length + ((flags & kTcpSyn) != 0) + ((flags & kTcpFin) != 0);
    return {sequence, sequence + length, flags};
  }
};

// A flow with a hit. Other protocols than TCP have no connections: theirs end with the idle time-out.
struct UnsafeConnection {
  uint64_t since_ns = 0;
  uint32_t next_sequence = 0;
  bool closing = false;

  bool transitory() const { return closing; }

  // A SYN whose sequence number is not one that the connection is at (RFC 9293 3.4.1): a copy of an old SYN, and one
  // sent into the window to lose the mark, begin nothing. Any SYN does after FIN or RST.
  bool is_ended_by(const TcpSegment& s) const {
    if ((s.flags & (kTcpSyn | kTcpRst)) != kTcpSyn) return false;
    return closing || !is_near(s.next_sequence);
  }

  // FIN and RST count where the receiver takes them: exactly behind what was sent before (RFC 5961 3.2).
  void follow(const TcpSegment& s) {
    if ((s.flags & (kTcpFin | kTcpRst)) != 0 && s.sequence == next_sequence) closing = true;
    if ((s.flags & kTcpRst) != 0 || !is_near(s.sequence)) return;
    if (static_cast<int32_t>(s.next_sequence - next_sequence) > 0) next_sequence = s.next_sequence;
  }

 private:
  static constexpr uint32_t kWindow = UINT16_MAX;

  bool is_near(uint32_t sequence) const {
    const uint32_t ahead = sequence - next_sequence;
    return ahead <= kWindow || ahead >= UINT32_MAX - kWindow;
  }
};

}  // namespace orrery::ids
