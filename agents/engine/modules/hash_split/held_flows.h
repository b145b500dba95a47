// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <vector>

#include "core/batch.h"
#include "modules/hash_split/flow_identity.h"
#include "nfs/flow_selector.h"

namespace orrery {

// Packets that may wait at one splitter.
constexpr uint32_t kMaxHeldPackets = 4096;

// Flows that go from one gate to another with all that the NF behind the first knows of them (HYPER III-A): their
// packets wait in order while the last of it is copied, and then follow their flows. Whatever ends the wait, none is
// dropped.
class HeldFlows {
 public:
  enum class End : uint8_t { kNot, kSteered, kLetGo, kTimeOut, kNoRoom, kNewGraph };

  struct Gates {
    uint8_t from;
    uint8_t to;
  };

  HeldFlows(FlowSelector selector, Gates gates, uint64_t hold_ns);
  ~HeldFlows();
  HeldFlows(const HeldFlows&) = delete;
  HeldFlows& operator=(const HeldFlows&) = delete;

  void begin(uint64_t now_ns) { until_ns_ = now_ns + hold_ns_; }
  // The first end counts.
  void end(End end) {
    if (end_ == End::kNot) end_ = end;
  }

  const Gates& gates() const { return gates_; }
  End ended() const { return end_; }
  bool is_over() const { return end_ != End::kNot; }
  bool is_empty() const { return count_ == 0; }
  bool has_room(uint32_t packets) const { return kMaxHeldPackets - count_ >= packets; }
  uint32_t waiting() const { return count_; }
  uint64_t waited() const { return waited_; }
  // When the wait ends; 1: packets are to go on now; 0: there is nothing to do.
  uint64_t due_ns() const {
    if (!is_over()) return until_ns_;
    return is_empty() ? 0 : 1;
  }

  bool selects(const FlowIdentity& flow) const { return selector_.selects(packet_of(flow)); }

  // Whether a packet of a flow that is at this gate waits, or waits for those before it.
  bool holds(const FlowIdentity& flow, uint16_t gate) const {
    return (is_over() ? !is_empty() : gate == gates_.from) && selects(flow);
  }

  // Precondition: has_room(1).
  void put(rte_mbuf* packet);
  // At most a batch of those that have waited longest, into an empty one.
  void take(Batch& batch);

 private:
  FlowSelector selector_;
  Gates gates_;
  uint64_t hold_ns_;
  uint64_t until_ns_ = 0;
  End end_ = End::kNot;
  std::vector<rte_mbuf*> ring_;
  uint32_t first_ = 0;
  uint32_t count_ = 0;
  uint64_t waited_ = 0;
};

}  // namespace orrery
