// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "nfs/match.h"
#include "support/flow_hash.h"
#include "support/flow_tuple.h"

namespace orrery {

// FlowSelector of the contract: the flows whose packets, in the direction in which the flow began, match all terms and
// have an H(f) in the range.
struct FlowSelector {
  struct HashRange {
    FlowHash hash;
    uint32_t lo;  // inclusive
    uint32_t hi;  // exclusive
  };

  Match match;
  std::optional<HashRange> range;

  bool selects(const ParsedPacket& packet) const {
    if (!matches(match, packet, 0)) return false;
    if (!range) return true;
    const uint32_t hash = range->hash(packet);
    return hash >= range->lo && hash < range->hi;
  }
};

// `fields`: those by which the NF knows its flows; a selector can ask for no other. Throws EngineError
// `invalid-config`.
FlowSelector parse_flow_selector(const nlohmann::json& value, const std::string& pointer, const FlowKey& fields);

// A packet of the flow, as far as a selector reads it. A flow without ports has 0.
inline ParsedPacket packet_of(const FlowTuple& flow) {
  ParsedPacket packet;
  packet.kind = PacketKind::kIpTransport;
  packet.ip_version = flow.ip_version;
  packet.ip_proto = flow.proto;
  // Of ICMP they are identifiers, which packets are not steered by.
  if (flow.proto != 1 && flow.proto != 58) {
    packet.src_port = flow.src_port;
    packet.dst_port = flow.dst_port;
  }
  if (flow.ip_version == 6) {
    packet.ipv6_src = flow.ipv6.src;
    packet.ipv6_dst = flow.ipv6.dst;
  } else {
    packet.ip_src = flow.src;
    packet.ip_dst = flow.dst;
  }
  return packet;
}

inline constexpr FlowKey kFiveTuple{
    .ip_src = true, .ip_dst = true, .ip_proto = true, .port_src = true, .port_dst = true};

}  // namespace orrery
