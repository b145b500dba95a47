// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

namespace orrery {

// Packets that move together.
constexpr uint32_t kBatchSize = 32;

// What is known of packets that entered the engine together and have not been told apart since: once for all, instead
// of a PacketMeta each, which takes a cache line of its own.
struct CommonMeta {
  uint64_t ingress_ns = 0;  // 0: each packet's own PacketMeta holds
  uint64_t enqueue_ns = 0;
  // Of the shortest and the longest. Each packet has one segment and owns its bytes.
  uint32_t least_bytes = 0;
  uint32_t most_bytes = 0;

  bool holds() const { return ingress_ns != 0; }
  bool operator==(const CommonMeta&) const = default;
};

struct alignas(64) Batch {
  uint32_t count = 0;
  uint32_t bytes = 0;
  CommonMeta common;
  rte_mbuf* packets[kBatchSize];

  void clear() {
    count = bytes = 0;
    common = {};
  }
};

// Most packets that may wait at one input of a module within a pass. A module that emits more than it took, such as a
// duplicator, is limited by this; what is beyond is dropped as `emit_overflow`.
constexpr uint32_t kMaxPending = 1024;

// What becomes of a packet in a module: out of gate `index`, or dropped for the reason `index`.
struct Fate {
  bool dropped = false;
  uint8_t index = 0;
  bool operator==(const Fate&) const = default;
};
using Fates = std::array<Fate, kBatchSize>;

}  // namespace orrery
