// SPDX-License-Identifier: Apache-2.0
#include <rte_ring.h>

#include <cstdlib>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "core/waker.h"
#include "support/free_deleter.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr const char* kReasonFull = "queue_full";

// Packets that wait for a task. Several workers may fill it; one empties it.
class Queue final : public TaskModule {
 public:
  explicit Queue(const ModuleContext& context) : TaskModule({kReasonFull}) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    const auto capacity = static_cast<uint32_t>(fields.integer_or("capacity", 32, 65536, 1024));
    fields.done();
    const auto bytes = static_cast<size_t>(rte_ring_get_memsize(rte_align32pow2(capacity + 1)));
    memory_.reset(static_cast<rte_ring*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes)));
    if (memory_ == nullptr || rte_ring_init(memory_.get(), "queue", capacity, RING_F_EXACT_SZ | RING_F_SC_DEQ) != 0)
      throw EngineError("out-of-memory", context.pointer + "/capacity", "no memory for the queue");
  }

  ~Queue() override {
    Batch left;
    while (memory_ != nullptr && (left.count = take(left)) != 0) rte_pktmbuf_free_bulk(left.packets, left.count);
  }

  void process(Pass& pass, Batch& batch, uint8_t) override { fill(pass, batch); }

  // Puts in what there is room for and drops the rest, on account of the module that runs.
  void fill(Pass& pass, Batch& batch) {
    for (uint32_t i = 0; i < batch.count; ++i) meta_of(batch.packets[i]).enqueue_ns = pass.now_ns();
    const uint32_t taken = put(batch.packets, batch.count);
    for (uint32_t i = taken; i < batch.count; ++i) pass.drop(batch.packets[i], kDropFull);
  }

  std::unique_ptr<Module> make_inlet(Waker& consumer) override;

  uint32_t poll(Pass& pass) override {
    Batch& batch = pass.fresh_batch();
    const uint32_t count = take(batch);
    if (count == 0) return 0;
    for (uint32_t i = 0; i < count; ++i) batch.bytes += batch.packets[i]->pkt_len;
    batch.count = count;
    pass.emit_all(0, batch);
    return count;
  }

  bool backlogged(uint64_t) const override { return rte_ring_empty(memory_.get()) == 0; }

  Wakeup wakeup() const override { return {.now = rte_ring_empty(memory_.get()) == 0, .fd = -1, .due_ns = 0}; }

  std::optional<uint32_t> queue_depth() const override { return rte_ring_count(memory_.get()); }

  // Waiting packets move over in order; those for which a smaller queue has no room are dropped.
  void adopt(Module& old_module) noexcept override {
    auto& old = static_cast<Queue&>(old_module);
    Module::adopt(old);
    if (rte_ring_get_capacity(old.memory_.get()) == rte_ring_get_capacity(memory_.get())) {
      memory_.swap(old.memory_);
      return;
    }
    for (Batch batch; (batch.count = old.take(batch)) != 0;) {
      const uint32_t taken = put(batch.packets, batch.count);
      counters.drops[kDropFull] += batch.count - taken;
      if (taken < batch.count) rte_pktmbuf_free_bulk(batch.packets + taken, batch.count - taken);
    }
  }

 private:
  static constexpr uint8_t kDropFull = kFirstOwnReason;

  uint32_t put(rte_mbuf** packets, uint32_t count) {
    return rte_ring_enqueue_burst(memory_.get(), reinterpret_cast<void* const*>(packets), count, nullptr);
  }
  uint32_t take(Batch& batch) {
    return rte_ring_dequeue_burst(memory_.get(), reinterpret_cast<void**>(batch.packets), kBatchSize, nullptr);
  }

  std::unique_ptr<rte_ring, FreeDeleter> memory_;
};

class QueueInlet final : public Module {
 public:
  QueueInlet(Queue& queue, Waker& consumer) : Module({kReasonFull}), queue_(queue), consumer_(consumer) {}

  void process(Pass& pass, Batch& batch, uint8_t) override {
    queue_.fill(pass, batch);
    consumer_.wake_if_asleep(queue_.wakes_worker);
  }

 private:
  Queue& queue_;
  Waker& consumer_;
};

std::unique_ptr<Module> Queue::make_inlet(Waker& consumer) {
  return std::make_unique<QueueInlet>(*this, consumer);
}

}  // namespace

extern const ModuleKind kQueue{
    .name = "queue",
    .inputs = 1,
    .gates = 1,
    .role = ModuleKind::Role::kQueue,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Queue>(context); },
};

}  // namespace orrery
