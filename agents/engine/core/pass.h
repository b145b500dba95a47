// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/batch.h"
#include "core/clock.h"
#include "core/graph.h"
#include "core/module.h"
#include "core/schedule/schedule_node.h"

namespace orrery {

// One run of a task to completion: what the task's first module emits goes through every module after it, in
// topological order, until it is dropped, sent or queued. Belongs to one worker.
class Pass {
 public:
  // Takes the graph whose tasks are run from now on; null: none.
  void set_graph(Graph* graph);

  // To be called when time has gone by since the last pass: a pass begins where the one before it ended, because a
  // reading of the counter takes as long as a packet (10 ns).
  void resume() { mark_ = rte_rdtsc(); }

  // When the last pass ended or the worker resumed, CLOCK_MONOTONIC.
  uint64_t mark_ns() { return clock_.ns(mark_); }

  // Runs the task once, at mark_ns().
  Usage run(Node& task, uint64_t mark_ns);

  // Runs the module's timer.
  void run_timer(Node& timed);

  // The rest is for modules, about the module that runs now.

  // When this pass began, CLOCK_MONOTONIC; exact_now_ns reads the clock again.
  uint64_t now_ns() const { return now_ns_; }
  uint64_t exact_now_ns() { return clock_.ns(rte_rdtsc()); }

  // Of full batches most passes time only the whole: to read the counter after each module would cost as much as a
  // short module. The next full one that times each module stands for them.
  bool measures() const { return measures_; }
  // For how many passes of full batches this one stands. Precondition: measures().
  uint32_t stands_for() const { return stands_for_; }

  // Reads the clock when a module has done its work and is about to pass packets on, and ends its cycles there: what it
  // still does counts for the module after it. Saves a module that measures latency a second reading. Precondition:
  // measures().
  uint64_t end_ns() {
    charge_until(rte_rdtsc());
    ended_ = true;
    return clock_.ns(mark_);
  }

  // An empty batch for a task to fill and pass on. Once a pass.
  Batch& fresh_batch() {
    spare_->clear();
    return *spare_;
  }

  // Passes the whole batch on: without a copy if it is the one that the module was given, or fresh_batch(). The caller
  // is done with it.
  void emit_all(uint8_t gate, Batch& batch);

  // Passes on packets that the module made or kept, at most kMaxPending.
  void emit(uint8_t gate, std::span<rte_mbuf* const> packets);

  // Whether the gate leads anywhere.
  bool linked(uint8_t gate) const { return node_->outputs[gate] != nullptr; }

  // Passes on no-op packets, which tell of packets that the module has given up and do not count as packets out.
  void emit_no_ops(uint8_t gate, std::span<rte_mbuf* const> packets);

  // Does with each packet of the batch what its fate says, in order.
  void dispatch(Batch& batch, const Fates& fates);

  // Frees the packet and counts the reason, an index of Module::drop_reasons().
  void drop(rte_mbuf* packet, uint8_t reason) {
    ++node_->module->counters.drops[reason];
    discard(packet);
  }

  // Frees a packet that has reached its end and is no loss.
  void discard(rte_mbuf* packet) {
    if (free_.count == kBatchSize) [[unlikely]]
      flush_free();
    free_.packets[free_.count++] = packet;
  }

  // Counts packets that left the engine here, so that no gate saw them.
  void count_out(uint32_t packets, uint64_t bytes) {
    node_->module->counters.packets_out += packets;
    node_->module->counters.bytes_out += bytes;
  }

  // Counts packets that entered the engine here.
  void count_in(uint32_t packets, uint64_t bytes) {
    node_->module->counters.packets_in += packets;
    node_->module->counters.bytes_in += bytes;
  }

  uint64_t busy_cycles() const { return busy_cycles_; }

 private:
  // A prime, so that what repeats itself in few batches is seen as often as it happens.
  static constexpr uint32_t kFullPassesEach = 17;
  // Much less than the period in which figures are read.
  static constexpr uint64_t kMostUnmeasuredNs = 10'000'000;
  // How long cycles of full batches wait, after that, for another full one to tell who used them.
  static constexpr uint64_t kMostKeptNs = 100'000'000;

  // What a module used in a pass that stands for others.
  struct Charge {
    ModuleCounters* counters;
    uint64_t cycles;
  };

  void emit(uint8_t gate, rte_mbuf* const* packets, uint32_t count, uint32_t bytes, const CommonMeta& common);
  void emit_more(Input& to, rte_mbuf* const* packets, uint32_t count);
  void choose_clock(const Unmeasured& unmeasured, uint32_t packets);
  void share_out(uint64_t unmeasured_cycles, uint64_t cycles);
  void run_to_completion();
  void process(Input& input);
  void process_batch(uint8_t input);
  void mark_ready(const Input& input) { ready_[input.turn / 64] |= uint64_t{1} << (input.turn % 64); }
  Input* next_ready();
  void end_module(bool last);
  void charge_until(uint64_t tsc) {
    ModuleCounters* counters = &node_->module->counters;
    counters->cycles += tsc - mark_;
    if (shares_out_ && !charges_.empty() && charges_.back().counters == counters) {
      charges_.back().cycles += tsc - mark_;
    } else if (shares_out_) {
      charges_.push_back({counters, tsc - mark_});
    }
    mark_ = tsc;
  }
  void flush_free();

  Clock clock_;
  Graph* graph_ = nullptr;
  Node* node_ = nullptr;
  uint64_t now_ns_ = 0;
  uint64_t mark_ = 0;   // the counter when the last module ended
  bool ended_ = false;  // the module that runs has ended its cycles itself
  bool measures_ = true;
  uint32_t stands_for_ = 1;
  bool shares_out_ = false;      // modules are charged for other passes, too
  std::vector<Charge> charges_;  // of this pass, if it shares out
  uint64_t busy_cycles_ = 0;
  std::vector<uint64_t> ready_;  // by turn: inputs of this graph at which packets wait
  size_t ready_word_ = 0;
  std::unique_ptr<Batch> spare_ = std::make_unique<Batch>();
  std::unique_ptr<Batch>* given_ = &spare_;  // holds the batch that the module that runs was given
  Batch free_;
};

}  // namespace orrery
