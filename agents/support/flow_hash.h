// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/packet.h"

namespace orrery {

constexpr uint32_t kFlowSpace = 65536;

// Fields of the 5-tuple over which flows are hashed (contract: FlowKey).
struct FlowKey {
  bool ip_src = false;
  bool ip_dst = false;
  bool ip_proto = false;
  bool port_src = false;
  bool port_dst = false;

  bool operator==(const FlowKey&) const = default;
};

// 16-bit flow identity H(f) (E2 3.4.4): the same on every server. Packets that are equal in the key's fields have the
// same; a field that a packet lacks counts as 0, and so do the ports of all fragments, because only the first has them,
// and the protocol of IPv6 fragments, because those behind the first need not name it.
class FlowHash {
 public:
  explicit FlowHash(const FlowKey& key)
      : src_mask_(key.ip_src ? UINT64_MAX : 0),
        dst_mask_(key.ip_dst ? UINT64_MAX : 0),
        addresses_mask_((src_mask_ & uint64_t{UINT32_MAX} << 32) | (dst_mask_ & uint64_t{UINT32_MAX})),
        ports_mask_((key.port_src ? uint64_t{UINT16_MAX} << 16 : 0) | (key.port_dst ? uint64_t{UINT16_MAX} : 0)),
        proto_mask_(key.ip_proto ? uint64_t{UINT8_MAX} << 32 : 0) {}

  // Of IPv4 packets this never changes: flows would move between instances where servers are upgraded one by one.
  uint16_t operator()(const ParsedPacket& packet) const {
    const bool ipv6 = packet.has_ipv6();
    const uint64_t addresses =
        ipv6 ? ipv6_addresses(packet) : ((uint64_t{packet.ip_src} << 32) | packet.ip_dst) & addresses_mask_;
    uint64_t rest = ipv6 && packet.fragment ? 0 : (uint64_t{packet.ip_proto} << 32) & proto_mask_;
    if (!packet.fragment) rest |= ((uint64_t{packet.src_port} << 16) | packet.dst_port) & ports_mask_;
    return static_cast<uint16_t>(mix(mix(addresses + 0x9e3779b97f4a7c15u) ^ (rest + 0x7f4a7c15u)) >> 48);
  }

 private:
  // Finalizer of splitmix64: every input bit changes every output bit with probability near one half.
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  // Both addresses as one word; 0 where the key has neither, as of IPv4.
  uint64_t ipv6_addresses(const ParsedPacket& packet) const {
    const uint64_t src = mix(mix(packet.ipv6_src.high + 0x9e3779b97f4a7c15u) ^ packet.ipv6_src.low);
    const uint64_t dst = mix(mix(packet.ipv6_dst.high + 0x3c6ef372fe94f82bu) ^ packet.ipv6_dst.low);
    return (src & src_mask_) ^ (dst & dst_mask_);
  }

  uint64_t src_mask_;
  uint64_t dst_mask_;
  uint64_t addresses_mask_;
  uint64_t ports_mask_;
  uint64_t proto_mask_;
};

}  // namespace orrery
