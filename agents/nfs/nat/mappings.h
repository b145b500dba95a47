// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "nfs/flow_rows.h"
#include "nfs/flow_store.h"
#include "nfs/movable_flows.h"
#include "nfs/nat/peers.h"
#include "nfs/translation/port_map.h"

namespace orrery::nat {

struct MappingKey {
  uint32_t address;
  uint16_t port;
  uint16_t space;

  bool operator==(const MappingKey&) const = default;
};

struct Mapping {
  uint32_t external_address;
  ExternalPort external;
  uint64_t packets;
};

using Mappings = FlowStore<MappingKey, Mapping>;
using Ports = PortMap<uint32_t>;

// Of flow state: port space, internal address, internal port, external address, external port, idle ms; youngest first.
inline constexpr RowLayout<6> kRow{kPortSpaces - 1, UINT32_MAX, UINT16_MAX, UINT32_MAX, UINT16_MAX, kMaxAgeMs};

// By which mappings and peers are known.
inline constexpr FlowKey kMappingFields{.ip_src = true, .ip_proto = true, .port_src = true};

// A packet from an inside endpoint. Identifiers of ICMP queries are not ports.
inline ParsedPacket inside_packet(uint32_t space, uint32_t address, uint16_t port) {
  constexpr uint8_t kProtocols[kPortSpaces] = {6, 17, 1};
  FlowTuple flow{};
  flow.src = address;
  flow.proto = kProtocols[space];
  flow.src_port = PortSpace(space) == PortSpace::kIcmp ? uint16_t{0} : port;
  return packet_of(flow);
}

inline std::array<uint64_t, 6> row_of_mapping(const Mappings::Flow& m, uint64_t now_ns) {
  return {m.key.space,
          m.key.address,
          m.key.port,
          m.value.external_address,
          m.value.external.port,
          age_ms(now_ns, m.last_seen_ns)};
}

inline std::array<uint64_t, 6> row_of_peer(const Peers::Store::Flow& peer, uint64_t now_ns) {
  return {peer.key.space,          peer.key.address,     peer.key.port,
          peer.key.remote_address, peer.key.remote_port, age_ms(now_ns, peer.last_seen_ns)};
}

}  // namespace orrery::nat
