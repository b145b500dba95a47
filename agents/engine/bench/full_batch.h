// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/packet_meta.h"
#include "core/pass.h"

namespace orrery::bench {

// Emits a full batch of packets of so many bytes, which `write` is given one by one, out of gate 0 of the task; returns
// how many. Without memory it counts all of them as the task's first own drop reason.
template <class Write>
uint32_t emit_full_batch(Pass& pass, TaskModule& task, rte_mempool* pool, uint16_t bytes, Write&& write) {
  Batch& batch = pass.fresh_batch();
  if (rte_pktmbuf_alloc_bulk(pool, batch.packets, kBatchSize) != 0) {
    task.counters.drops[kFirstOwnReason] += kBatchSize;
    return 0;
  }
  for (rte_mbuf* packet : batch.packets) {
    packet->data_len = packet->pkt_len = bytes;
    meta_of(packet).reset(arrival_at(pass.now_ns()));
    write(bytes_of(packet));
  }
  batch.count = kBatchSize;
  batch.bytes = kBatchSize * bytes;
  pass.count_in(batch.count, batch.bytes);
  pass.emit_all(0, batch);
  return batch.count;
}

}  // namespace orrery::bench
