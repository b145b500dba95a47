// SPDX-License-Identifier: Apache-2.0
#include "core/pass.h"

#include <algorithm>
#include <cstring>

namespace orrery {

void Pass::set_graph(Graph* graph) {
  graph_ = graph;
  ready_.assign(graph == nullptr ? 0 : (graph->by_rank.size() + 63) / 64, 0);
}

void Pass::emit(uint8_t gate, rte_mbuf* const* packets, uint32_t count, uint32_t bytes) {
  const Output& out = output(gate);
  if (out.to == nullptr) [[unlikely]] {
    for (uint32_t i = 0; i < count; ++i) drop(packets[i], kDropNoGate);
    return;
  }
  Batch& pending = out.to->pending[out.input];
  std::copy_n(packets, count, pending.packets + pending.count);
  pending.count += count;
  pending.bytes += bytes;
  ready_[out.to->rank / 64] |= uint64_t{1} << (out.to->rank % 64);
  emitted_packets_ += count;
  emitted_bytes_ += bytes;
}

void Pass::dispatch(const Batch& batch, const Fates& fates) {
  if (batch.count == 0) return;
  // Packets of one fate move together: to count each in memory would cost more than all the rest.
  const bool alike = std::memcmp(fates.data(), fates.data() + 1, (batch.count - 1) * sizeof(Fate)) == 0;
  if (alike && !fates[0].dropped) {
    emit_all(fates[0].index, batch);
    return;
  }
  for (uint32_t first = 0, end = 0; first < batch.count; first = end) {
    const Fate fate = fates[first];
    uint32_t bytes = 0;
    for (; end < batch.count && fates[end] == fate; ++end) bytes += batch.packets[end]->pkt_len;
    if (fate.dropped) {
      for (uint32_t i = first; i < end; ++i) drop(batch.packets[i], fate.index);
    } else {
      emit(fate.index, batch.packets + first, end - first, bytes);
    }
  }
}

uint32_t Pass::run(Node& task) {
  const uint64_t start = mark_;
  now_ns_ = clock_.ns(start);
  node_ = &task;
  const uint32_t taken = static_cast<TaskModule&>(*task.module).poll(*this);
  if (taken == 0) {
    mark_ = rte_rdtsc();
    return 0;
  }
  charge();
  ready_word_ = 0;
  while ((node_ = next_ready()) != nullptr) {
    for (uint8_t input = 0; input < kMaxInputs; ++input) {
      Batch& batch = node_->pending[input];
      if (batch.count == 0) continue;
      count_in(batch.count, batch.bytes);
      node_->module->process(*this, batch, input);
      batch.clear();
    }
    charge();
  }
  busy_cycles_ += mark_ - start;
  return taken;
}

Node* Pass::next_ready() {
  for (; ready_word_ < ready_.size(); ++ready_word_) {
    uint64_t& word = ready_[ready_word_];
    if (word == 0) continue;
    const auto bit = static_cast<size_t>(std::countr_zero(word));
    word &= word - 1;
    return graph_->by_rank[ready_word_ * 64 + bit];
  }
  return nullptr;
}

void Pass::charge() {
  flush_free();
  const uint64_t now = rte_rdtsc();
  ModuleCounters& counters = node_->module->counters;
  counters.cycles += now - mark_;
  counters.packets_out += emitted_packets_;
  counters.bytes_out += emitted_bytes_;
  emitted_packets_ = emitted_bytes_ = 0;
  mark_ = now;
}

void Pass::flush_free() {
  if (free_.count != 0) rte_pktmbuf_free_bulk(free_.packets, free_.count);
  free_.count = 0;
}

}  // namespace orrery
