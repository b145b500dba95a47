// SPDX-License-Identifier: Apache-2.0
#include "core/pass.h"

#include <cstring>

namespace orrery {

void Pass::set_graph(Graph* graph) {
  graph_ = graph;
  ready_.assign(graph == nullptr ? 0 : (graph->by_rank.size() + 63) / 64, 0);
}

void Pass::emit_all(uint8_t gate, const Batch& batch) {
  const Output& out = output(gate);
  if (out.to == nullptr) [[unlikely]] {
    for (uint32_t i = 0; i < batch.count; ++i) drop(batch.packets[i], kDropNoGate);
    return;
  }
  Batch& pending = out.to->pending[out.input];
  std::memcpy(pending.packets + pending.count, batch.packets, batch.count * sizeof(rte_mbuf*));
  pending.count += batch.count;
  pending.bytes += batch.bytes;
  ready_[out.to->rank / 64] |= uint64_t{1} << (out.to->rank % 64);
  emitted_packets_ += batch.count;
  emitted_bytes_ += batch.bytes;
}

uint32_t Pass::run(Node& task) {
  const uint64_t start = rte_rdtsc();
  now_ns_ = clock_.ns(start);
  node_ = &task;
  const uint32_t taken = static_cast<TaskModule&>(*task.module).poll(*this);
  if (taken == 0) return 0;
  uint64_t mark = charge(start);
  ready_word_ = 0;
  while ((node_ = next_ready()) != nullptr) {
    for (uint8_t input = 0; input < kMaxInputs; ++input) {
      Batch& batch = node_->pending[input];
      if (batch.count == 0) continue;
      count_in(batch.count, batch.bytes);
      node_->module->process(*this, batch, input);
      batch.clear();
    }
    mark = charge(mark);
  }
  flush_free();
  busy_cycles_ += mark - start;
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

uint64_t Pass::charge(uint64_t since_tsc) {
  const uint64_t now = rte_rdtsc();
  ModuleCounters& counters = node_->module->counters;
  counters.cycles += now - since_tsc;
  counters.packets_out += emitted_packets_;
  counters.bytes_out += emitted_bytes_;
  emitted_packets_ = emitted_bytes_ = 0;
  return now;
}

void Pass::flush_free() {
  if (free_.count != 0) rte_pktmbuf_free_bulk(free_.packets, free_.count);
  free_.count = 0;
}

}  // namespace orrery
