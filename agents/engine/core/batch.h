// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

namespace orrery {

// Packets that move together. No pass ever holds more than one batch: a module never makes packets of its own.
constexpr uint32_t kBatchSize = 32;

struct Batch {
  uint32_t count = 0;
  uint32_t bytes = 0;
  rte_mbuf* packets[kBatchSize];

  void clear() { count = bytes = 0; }
};

// What becomes of a packet in a module: out of gate `index`, or dropped for the reason `index`.
struct Fate {
  bool dropped = false;
  uint8_t index = 0;
  bool operator==(const Fate&) const = default;
};
using Fates = std::array<Fate, kBatchSize>;

}  // namespace orrery
