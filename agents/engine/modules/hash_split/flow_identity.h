// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/flow_hash.h"
#include "support/packet.h"

namespace orrery {

// The fields of a flow's key, 0 elsewhere: what H(f) is made from. Addresses of IPv4 are v4-mapped.
struct FlowIdentity {
  Ipv6Address src{};
  Ipv6Address dst{};
  uint64_t rest = 0;  // protocol, ports, and whether the addresses are of an IPv6 packet

  uint8_t proto() const { return static_cast<uint8_t>(rest >> 32); }
  uint16_t src_port() const { return static_cast<uint16_t>(rest >> 16); }
  uint16_t dst_port() const { return static_cast<uint16_t>(rest); }
  bool is_ipv6() const { return (rest & kIpv6) != 0; }
  bool operator==(const FlowIdentity&) const = default;

  static constexpr uint64_t kIpv6 = uint64_t{1} << 40;
};
static_assert(sizeof(FlowIdentity) == 40);

// A packet of the flow, as far as a selector of the key's fields reads it.
inline ParsedPacket packet_of(const FlowIdentity& flow) {
  ParsedPacket packet;
  packet.kind = PacketKind::kIpTransport;
  packet.ip_version = flow.is_ipv6() ? 6 : 4;
  packet.ip_proto = flow.proto();
  packet.src_port = flow.src_port();
  packet.dst_port = flow.dst_port();
  if (flow.is_ipv6()) {
    packet.ipv6_src = flow.src;
    packet.ipv6_dst = flow.dst;
  } else {
    packet.ip_src = static_cast<uint32_t>(flow.src.low);
    packet.ip_dst = static_cast<uint32_t>(flow.dst.low);
  }
  return packet;
}

// Packets that are equal in the key's fields have the same identity, by the rules of FlowHash.
class FlowIdentifier {
 public:
  explicit FlowIdentifier(const FlowKey& key)
      : src_mask_(key.ip_src ? UINT64_MAX : 0),
        dst_mask_(key.ip_dst ? UINT64_MAX : 0),
        ports_mask_((key.port_src ? uint64_t{UINT16_MAX} << 16 : 0) | (key.port_dst ? uint64_t{UINT16_MAX} : 0)),
        proto_mask_(key.ip_proto ? uint64_t{UINT8_MAX} << 32 : 0) {}

  FlowIdentity operator()(const ParsedPacket& packet) const {
    const bool ipv6 = packet.ip_version == 6 && packet.kind != PacketKind::kMalformed;
    FlowIdentity flow;
    if (!packet.fragment) flow.rest = ((uint64_t{packet.src_port} << 16) | packet.dst_port) & ports_mask_;
    if (ipv6) {
      if (!packet.fragment) flow.rest |= (uint64_t{packet.ip_proto} << 32) & proto_mask_;
      flow.rest |= FlowIdentity::kIpv6 & (src_mask_ | dst_mask_);
      flow.src = masked(packet.ipv6_src, src_mask_);
      flow.dst = masked(packet.ipv6_dst, dst_mask_);
    } else {
      flow.rest |= (uint64_t{packet.ip_proto} << 32) & proto_mask_;
      flow.src = masked(mapped(packet.ip_src), src_mask_);
      flow.dst = masked(mapped(packet.ip_dst), dst_mask_);
    }
    return flow;
  }

 private:
  static Ipv6Address mapped(uint32_t address) { return address == 0 ? Ipv6Address{0, 0} : ipv4_mapped(address); }
  static Ipv6Address masked(const Ipv6Address& address, uint64_t mask) {
    return {address.high & mask, address.low & mask};
  }

  uint64_t src_mask_;
  uint64_t dst_mask_;
  uint64_t ports_mask_;
  uint64_t proto_mask_;
};

}  // namespace orrery
