// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/batch.h"
#include "nfs/bytestream/stream_view.h"
#include "support/packet.h"

namespace orrery {

// What the engine knows about a packet before any module has looked at it: one store for each packet of a batch.
struct alignas(32) PacketArrival {
  uint64_t ingress_ns;  // when the first engine saw it, CLOCK_MONOTONIC
  uint64_t enqueue_ns;  // when it entered the last queue or this engine, or left the last NF
  uint64_t packet_id;   // 40 bits, the same in all copies that a mirror made (support/hop_tag.h); 0: none
  uint16_t metadata;    // derived attributes (contract: MetadataField)
  bool parsed_valid;
  bool has_stream;
};
static_assert(sizeof(PacketArrival) == 32);

constexpr PacketArrival arrival_at(uint64_t now_ns) {
  return {.ingress_ns = now_ns,
          .enqueue_ns = now_ns,
          .packet_id = 0,
          .metadata = 0,
          .parsed_valid = false,
          .has_stream = false};
}

// What the engine knows about a packet beside its bytes; kept in the private area of its mbuf, also where several mbufs
// share the bytes.
struct PacketMeta : PacketArrival {
  ParsedPacket parsed;  // meaningful only while parsed_valid
  StreamView stream;    // meaningful only where has_stream: a bytestream was passed, and the payload is as it was there

  // For a packet that enters the engine.
  void reset(const PacketArrival& arrival) { static_cast<PacketArrival&>(*this) = arrival; }
};

constexpr uint16_t kPacketMetaRoom = 192;
static_assert(sizeof(PacketMeta) <= kPacketMetaRoom);

inline PacketMeta& meta_of(rte_mbuf* packet) {
  return *static_cast<PacketMeta*>(rte_mbuf_to_priv(packet));
}

// Gives each of the packets its own PacketMeta, of what they have in common. Precondition: common.holds().
inline void write_meta(rte_mbuf* const* packets, uint32_t count, const CommonMeta& common) {
  PacketArrival arrival = arrival_at(common.ingress_ns);
  arrival.enqueue_ns = common.enqueue_ns;
  for (uint32_t i = 0; i < count; ++i) meta_of(packets[i]).reset(arrival);
}

// The same for a batch that has something in common.
inline void write_meta(Batch& batch) {
  if (!batch.common.holds()) return;
  write_meta(batch.packets, batch.count, batch.common);
  batch.common = {};
}

inline uint8_t* bytes_of(rte_mbuf* packet) {
  return rte_pktmbuf_mtod(packet, uint8_t*);
}

// Makes `fresh`, just allocated, a packet of its own with the same bytes and what is known about them. Precondition:
// one segment.
inline void copy_into(rte_mbuf* fresh, rte_mbuf* packet) {
  std::memcpy(rte_pktmbuf_append(fresh, packet->data_len), bytes_of(packet), packet->data_len);
  meta_of(fresh) = meta_of(packet);
}

// The same, but both share the bytes, which nobody may change until one of them is left (own_bytes).
inline void share_into(rte_mbuf* fresh, rte_mbuf* packet) {
  rte_pktmbuf_attach(fresh, packet);
  meta_of(fresh) = meta_of(packet);
}

// Null when the pool is empty. Precondition: one segment.
inline rte_mbuf* copy_packet(rte_mbuf* packet, rte_mempool* pool) {
  rte_mbuf* copy = rte_pktmbuf_alloc(pool);
  if (copy != nullptr) copy_into(copy, packet);
  return copy;
}

// Whether the packet can be told at a glance to own its bytes; owns_bytes() looks closer.
inline bool plainly_owns_bytes(const rte_mbuf* packet) {
  return ((packet->refcnt ^ 1u) | (packet->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL))) == 0;
}

// Whether no other packet shares the bytes.
inline bool owns_bytes(rte_mbuf* packet) {
  const rte_mbuf* holder = RTE_MBUF_DIRECT(packet) ? packet : rte_mbuf_from_indirect(packet);
  if (rte_mbuf_refcnt_read(holder) != 1) return false;
  // What the others read before they let go was read before what is written now.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

// To be called before the bytes are changed by a module that may be given shared ones: replaces `packet` by a copy of
// its own where they are. False, and nothing has changed, when the pool is empty.
inline bool own_bytes(rte_mbuf*& packet) {
  if (owns_bytes(packet)) [[likely]]
    return true;
  rte_mbuf* copy = copy_packet(packet, packet->pool);
  if (copy == nullptr) return false;
  rte_pktmbuf_free(packet);
  packet = copy;
  return true;
}

// Cuts the packet to at most so many bytes. The bytes may be shared.
inline void truncate(rte_mbuf* packet, uint16_t bytes) {
  if (packet->data_len <= bytes) return;
  packet->data_len = bytes;
  packet->pkt_len = bytes;
  meta_of(packet).parsed_valid = meta_of(packet).has_stream = false;
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
