// SPDX-License-Identifier: Apache-2.0
#include "core/pass.h"

#include <algorithm>
#include <cstring>

#include "core/packet_meta.h"

namespace orrery {

void Pass::set_graph(Graph* graph) {
  graph_ = graph;
  if (graph == nullptr) return;
  ready_.assign((graph->by_turn.size() + 63) / 64, 0);
  charges_.reserve(graph->by_rank.size());
}

void Pass::emit_all(uint8_t gate, Batch& batch) {
  if (batch.count == 0) return;
  Input* to = node_->outputs[gate];
  if (&batch == given_->get() && to != nullptr && to->first->count == 0) [[likely]] {
    mark_ready(*to);
    count_out(batch.count, batch.bytes);
    given_->swap(to->first);
    return;
  }
  emit(gate, batch.packets, batch.count, batch.bytes, batch.common);
}

void Pass::emit(uint8_t gate, rte_mbuf* const* packets, uint32_t count, uint32_t bytes, const CommonMeta& common) {
  Input* to = node_->outputs[gate];
  if (to == nullptr) [[unlikely]] {
    for (uint32_t i = 0; i < count; ++i) drop(packets[i], kDropNoGate);
    return;
  }
  mark_ready(*to);
  Batch& pending = *to->first;
  const bool overflows = pending.count + count > kBatchSize;
  if (pending.count == 0) {
    pending.common = common;
  } else if (overflows || pending.common != common) [[unlikely]] {
    write_meta(pending);
    if (common.holds()) write_meta(packets, count, common);
  }
  if (overflows) [[unlikely]] {
    emit_more(*to, packets, count);
    return;
  }
  std::copy_n(packets, count, pending.packets + pending.count);
  pending.count += count;
  pending.bytes += bytes;
  count_out(count, bytes);
}

void Pass::emit(uint8_t gate, std::span<rte_mbuf* const> packets) {
  for (size_t first = 0; first < packets.size(); first += kBatchSize) {
    const auto some = packets.subspan(first, std::min<size_t>(kBatchSize, packets.size() - first));
    uint32_t bytes = 0;
    for (const rte_mbuf* packet : some) bytes += packet->pkt_len;
    emit(gate, some.data(), static_cast<uint32_t>(some.size()), bytes, {});
  }
}

void Pass::emit_no_ops(uint8_t gate, std::span<rte_mbuf* const> packets) {
  ModuleCounters& counters = node_->module->counters;
  const uint64_t packets_out = counters.packets_out, bytes_out = counters.bytes_out;
  emit(gate, packets);
  counters.packets_out = packets_out;
  counters.bytes_out = bytes_out;
}

// Fills the batch that waits, then the room behind it.
void Pass::emit_more(Input& to, rte_mbuf* const* packets, uint32_t count) {
  Batch& first = *to.first;
  std::vector<rte_mbuf*>& more = to.more;
  for (uint32_t i = 0; i < count; ++i) {
    if (first.count < kBatchSize && more.empty()) {
      first.packets[first.count++] = packets[i];
      first.bytes += packets[i]->pkt_len;
    } else if (more.size() < kMaxPending - kBatchSize) {
      if (more.capacity() == 0) more.reserve(kMaxPending - kBatchSize);
      more.push_back(packets[i]);
    } else {
      drop(packets[i], kDropEmitOverflow);
      continue;
    }
    count_out(1, packets[i]->pkt_len);
  }
}

void Pass::dispatch(Batch& batch, const Fates& fates) {
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
      emit(fate.index, batch.packets + first, end - first, bytes, batch.common);
    }
  }
}

void Pass::flush_free() {
  rte_pktmbuf_free_bulk(free_.packets, free_.count);
  free_.count = 0;
}

[[gnu::always_inline]] inline Input* Pass::next_ready() {
  for (; ready_word_ < ready_.size(); ++ready_word_) {
    uint64_t& word = ready_[ready_word_];
    if (word == 0) continue;
    const auto bit = static_cast<size_t>(std::countr_zero(word));
    word &= word - 1;
    return graph_->by_turn[ready_word_ * 64 + bit];
  }
  return nullptr;
}

// Charges the module that ran. `last`: of the pass.
[[gnu::always_inline]] inline void Pass::end_module(bool last) {
  const bool frees = free_.count != 0;
  if (frees) flush_free();
  if (!measures_) {
    if (last) mark_ = rte_rdtsc();
    return;
  }
  // A module that ended its cycles itself may leave little to the next one, and nothing to the next pass.
  if (!ended_ || frees || last) charge_until(rte_rdtsc());
  ended_ = false;
}

// Leaves an empty batch in `given_`.
[[gnu::always_inline]] inline void Pass::process_batch(uint8_t input) {
  Batch& batch = **given_;
  count_in(batch.count, batch.bytes);
  node_->module->process(*this, batch, input);
  if (given_->get() == &batch) batch.clear();
}

[[gnu::always_inline]] inline void Pass::process(Input& input) {
  if (!node_->takes_common_meta) write_meta(*input.first);
  given_ = &input.first;
  process_batch(input.index);
  if (input.more.empty()) [[likely]]
    return;
  for (size_t next = 0; next < input.more.size();) {
    Batch& batch = *input.first;
    for (; batch.count < kBatchSize && next < input.more.size(); ++next) {
      batch.packets[batch.count++] = input.more[next];
      batch.bytes += input.more[next]->pkt_len;
    }
    process_batch(input.index);
  }
  input.more.clear();
}

Usage Pass::run(Node& task, uint64_t mark_ns) {
  const uint64_t start = mark_;
  now_ns_ = mark_ns;
  node_ = &task;
  given_ = &spare_;
  const uint64_t bytes_before = task.module->counters.bytes_out;
  const uint32_t packets = static_cast<TaskModule&>(*task.module).poll(*this);
  if (packets == 0) {
    mark_ = rte_rdtsc();
    return {.cycles = mark_ - start, .packets = 0, .bytes = 0};
  }
  const uint64_t bytes = task.module->counters.bytes_out - bytes_before;
  choose_clock(task.unmeasured, packets);
  run_to_completion();
  const uint64_t cycles = mark_ - start;
  busy_cycles_ += cycles;
  Unmeasured& unmeasured = task.unmeasured;
  if (!measures_) {
    ++unmeasured.passes;
    unmeasured.cycles += cycles;
    return {.cycles = cycles, .packets = packets, .bytes = bytes};
  }
  if (shares_out_) {
    share_out(unmeasured.cycles, cycles);
    unmeasured.passes = 0;
    unmeasured.cycles = 0;
  }
  if (packets >= kBatchSize) unmeasured.until_ns = now_ns_ + kMostUnmeasuredNs;
  return {.cycles = cycles, .packets = packets, .bytes = bytes};
}

void Pass::choose_clock(const Unmeasured& unmeasured, uint32_t packets) {
  if (packets >= kBatchSize) {
    measures_ = unmeasured.passes + 1 == kFullPassesEach || now_ns_ >= unmeasured.until_ns;
    stands_for_ = unmeasured.passes + 1;
    shares_out_ = measures_ && unmeasured.passes != 0;
  } else {
    measures_ = true;
    stands_for_ = 1;
    shares_out_ = unmeasured.passes != 0 && now_ns_ >= unmeasured.until_ns + kMostKeptNs;
  }
}

// Charges modules for passes that were not measured, in proportion to what they used in this one.
void Pass::share_out(uint64_t unmeasured_cycles, uint64_t cycles) {
  const double ratio = static_cast<double>(unmeasured_cycles) / static_cast<double>(std::max<uint64_t>(cycles, 1));
  uint64_t left = unmeasured_cycles;
  for (const Charge& charge : charges_) {
    const auto share = std::min(left, static_cast<uint64_t>(ratio * static_cast<double>(charge.cycles)));
    charge.counters->cycles += share;
    left -= share;
  }
  if (!charges_.empty()) charges_.back().counters->cycles += left;
  charges_.clear();
}

void Pass::run_timer(Node& timed) {
  const uint64_t start = mark_;
  now_ns_ = clock_.ns(start);
  measures_ = true;
  stands_for_ = 1;
  shares_out_ = false;
  node_ = &timed;
  given_ = &spare_;
  timed.module->on_timer(*this);
  run_to_completion();
  busy_cycles_ += mark_ - start;
}

void Pass::run_to_completion() {
  ready_word_ = 0;
  while (Input* input = next_ready()) {
    if (input->node != node_) {
      end_module(false);
      node_ = input->node;
    }
    process(*input);
  }
  end_module(true);
}

}  // namespace orrery
