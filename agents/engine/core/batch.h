// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <vector>

namespace orrery {

// Packets that move together.
constexpr uint32_t kBatchSize = 32;

struct Batch {
  uint32_t count = 0;
  uint32_t bytes = 0;
  rte_mbuf* packets[kBatchSize];

  void clear() { count = bytes = 0; }
};

// Most packets that may wait at one input of a module within a pass. A module that emits more than it took, such as a
// duplicator, is limited by this; what is beyond is dropped as `emit_overflow`.
constexpr uint32_t kMaxPending = 1024;

// Packets that wait at an input of a module for their turn in the pass: the first batch in place, because a pass
// without duplicators never has more, and what is beyond it behind, in order.
struct Pending {
  Batch first;
  std::vector<rte_mbuf*> more;
};

// What becomes of a packet in a module: out of gate `index`, or dropped for the reason `index`.
struct Fate {
  bool dropped = false;
  uint8_t index = 0;
  bool operator==(const Fate&) const = default;
};
using Fates = std::array<Fate, kBatchSize>;

}  // namespace orrery
