// SPDX-License-Identifier: Apache-2.0
// What is known of a connection through the load balancer.
#pragma once

#include "nfs/flow_store.h"
#include "nfs/ip_frame.h"
#include "nfs/translation/port_map.h"
#include "support/flow_tuple.h"

namespace orrery::load_balancer {

enum class ConnectionState : uint8_t {
  kOpening,      // begun without a SYN, nothing has come back
  kSynSent,      // begun with a SYN, nothing has come back
  kAnswered,     // the back end has sent SYN and ACK
  kEstablished,  // both ends have spoken; in direct mode, the client has beyond its SYN
  kClosing,      // FIN or RST of either end
};
inline constexpr uint64_t kConnectionStates = 5;
inline constexpr const char* kConnectionStateNames[] = {"opening", "syn-sent", "answered", "established", "closing"};

struct Connection {
  ExternalPort external;  // in mode `nat`
  uint16_t era;           // of its port's health in which it began
  uint8_t backend;        // its position in the configuration
  ConnectionState state;
  bool is_counted_failure;  // a connection fails once

  bool transitory() const { return state != ConnectionState::kEstablished; }
  bool is_unanswered() const { return state == ConnectionState::kSynSent || state == ConnectionState::kOpening; }
};

using Connections = FlowStore<FlowTuple, Connection>;

// The kinds of TCP segments that matter here; others than TCP are kData.
enum class Segment : uint8_t { kSyn, kSynAck, kData, kFin, kReset };

inline Segment segment_of(const NfPacket& packet) {
  if (!is_tcp(packet.parsed)) return Segment::kData;
  const uint8_t flags = tcp_flags(packet);
  if ((flags & kTcpRst) != 0) return Segment::kReset;
  if ((flags & kTcpSyn) != 0) return (flags & kTcpAck) != 0 ? Segment::kSynAck : Segment::kSyn;
  return (flags & kTcpFin) != 0 ? Segment::kFin : Segment::kData;
}

// What a client's packet makes of a state. Without replies to see, its own are all there is to go by.
inline ConnectionState after_request(ConnectionState state, Segment segment, bool sees_replies) {
  using enum ConnectionState;
  if (segment == Segment::kFin || segment == Segment::kReset) return kClosing;
  if (segment == Segment::kSyn) return state == kClosing ? kSynSent : state;
  const bool ready = sees_replies ? state == kAnswered : state == kSynSent || state == kOpening;
  return ready ? kEstablished : state;
}

// What a back end's packet makes of it.
inline ConnectionState after_reply(ConnectionState state, Segment segment) {
  using enum ConnectionState;
  if (segment == Segment::kFin || segment == Segment::kReset) return kClosing;
  if (state == kSynSent) return segment == Segment::kSynAck ? kAnswered : state;
  return state == kOpening ? kEstablished : state;
}

}  // namespace orrery::load_balancer
