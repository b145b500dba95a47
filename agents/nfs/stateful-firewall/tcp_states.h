// SPDX-License-Identifier: Apache-2.0
// How the state of a TCP connection changes: the 16 table entries of HYPER VII-B. A board gets the same table written.
#pragma once

#include <array>
#include <cstdint>

#include "nfs/ip_frame.h"

namespace orrery::stateful_firewall {

enum class TcpState : uint8_t { kNone = 0, kOpening = 1, kEstablished = 2, kClosing = 3 };
inline constexpr size_t kTcpStates = 4;
inline constexpr const char* kTcpStateNames[kTcpStates] = {"none", "opening", "established", "closing"};

// kOther: with ACK, or with no flag of these. A SYN with ACK on a known connection is a kSyn: the answer to a SYN that
// somebody forged opens nothing.
enum class TcpEvent : uint8_t { kSyn = 0, kOther = 1, kFin = 2, kRst = 3 };
inline constexpr size_t kTcpEvents = 4;

constexpr TcpEvent tcp_event(uint8_t flags, bool known) {
  if (flags & kTcpRst) return TcpEvent::kRst;
  if (flags & kTcpFin) return TcpEvent::kFin;
  return (flags & kTcpSyn) && (known || !(flags & kTcpAck)) ? TcpEvent::kSyn : TcpEvent::kOther;
}

// What a packet does: the connection's next state, of which kNone ends it, and whether the packet is dropped.
struct TcpTransition {
  TcpState next;
  bool drop;

  bool operator==(const TcpTransition&) const = default;
};

constexpr size_t transition_index(TcpState state, TcpEvent event) {
  return static_cast<size_t>(state) * kTcpEvents + static_cast<size_t>(event);
}

// By transition_index().
inline constexpr std::array<TcpTransition, kTcpStates* kTcpEvents> kTcpTransitions = [] {
  using enum TcpState;
  return std::array<TcpTransition, kTcpStates * kTcpEvents>{{
      // SYN, other, FIN, RST
      {kOpening, false},
      {kNone, true},
      {kNone, true},
      {kNone, true},  // none
      {kOpening, false},
      {kEstablished, false},
      {kClosing, false},
      {kNone, false},  // opening
      {kEstablished, false},
      {kEstablished, false},
      {kClosing, false},
      {kNone, false},  // established
      {kOpening, false},
      {kClosing, false},
      {kClosing, false},
      {kNone, false},  // closing
  }};
}();

}  // namespace orrery::stateful_firewall
