// SPDX-License-Identifier: Apache-2.0
#include "modules/hash_split/held_flows.h"

#include <utility>

namespace orrery {

HeldFlows::HeldFlows(FlowSelector selector, Gates gates, uint64_t hold_ns)
    : selector_(std::move(selector)), gates_(gates), hold_ns_(hold_ns), ring_(kMaxHeldPackets) {}

HeldFlows::~HeldFlows() {
  for (Batch left; !is_empty(); left.clear()) {
    take(left);
    rte_pktmbuf_free_bulk(left.packets, left.count);
  }
}

void HeldFlows::put(rte_mbuf* packet) {
  ring_[(first_ + count_) % kMaxHeldPackets] = packet;
  ++count_;
  ++waited_;
}

void HeldFlows::take(Batch& batch) {
  for (; count_ != 0 && batch.count < kBatchSize; --count_) {
    rte_mbuf* packet = ring_[first_];
    first_ = (first_ + 1) % kMaxHeldPackets;
    batch.packets[batch.count++] = packet;
    batch.bytes += packet->pkt_len;
  }
}

}  // namespace orrery
