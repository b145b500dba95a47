// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "support/packet.h"

namespace orrery {

// What the engine knows about a packet beside its bytes; kept in the private area of its mbuf.
struct PacketMeta {
  uint64_t ingress_ns;  // when the first engine saw it, CLOCK_MONOTONIC
  uint64_t enqueue_ns;  // when it entered the last queue, or this engine
  uint16_t metadata;    // derived attributes (contract: MetadataField)
  bool parsed_valid;
  ParsedPacket parsed;  // meaningful only while parsed_valid

  // For a packet that enters the engine now.
  void reset(uint64_t now_ns) {
    ingress_ns = enqueue_ns = now_ns;
    metadata = 0;
    parsed_valid = false;
  }
};

constexpr uint16_t kPacketMetaRoom = 64;
static_assert(sizeof(PacketMeta) <= kPacketMetaRoom);

inline PacketMeta& meta_of(rte_mbuf* packet) {
  return *static_cast<PacketMeta*>(rte_mbuf_to_priv(packet));
}

inline uint8_t* bytes_of(rte_mbuf* packet) {
  return rte_pktmbuf_mtod(packet, uint8_t*);
}

// A packet of its own with the same bytes and what is known about them; null when the pool is empty. Precondition: one
// segment.
inline rte_mbuf* copy_packet(rte_mbuf* packet, rte_mempool* pool) {
  rte_mbuf* copy = rte_pktmbuf_alloc(pool);
  if (copy == nullptr) return nullptr;
  std::memcpy(rte_pktmbuf_append(copy, packet->data_len), bytes_of(packet), packet->data_len);
  meta_of(copy) = meta_of(packet);
  return copy;
}

// Headers of the packet; parsed once until somebody clears `parsed_valid` because the headers changed.
inline const ParsedPacket& parsed_of(rte_mbuf* packet) {
  PacketMeta& meta = meta_of(packet);
  if (!meta.parsed_valid) {
    // Made in place: a copy of headers that were just parsed waits for all their small stores to finish.
    new (&meta.parsed) ParsedPacket(parse_packet({bytes_of(packet), packet->data_len}));
    meta.parsed_valid = true;
  }
  return meta.parsed;
}

}  // namespace orrery
