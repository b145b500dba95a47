// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

namespace orrery {

// Packets that move together. No pass ever holds more than one batch: a module never makes packets of its own.
constexpr uint32_t kBatchSize = 32;

struct Batch {
  uint32_t count = 0;
  uint32_t bytes = 0;
  rte_mbuf* packets[kBatchSize];

  void add(rte_mbuf* packet) {
    packets[count++] = packet;
    bytes += packet->pkt_len;
  }
  void clear() { count = bytes = 0; }
};

}  // namespace orrery
