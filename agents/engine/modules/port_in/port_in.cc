// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "core/port.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

class PortIn final : public TaskModule {
 public:
  explicit PortIn(const ModuleContext& context) : TaskModule({"oversize"}), port_(*context.port) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    fields.id("port");
    fields.done();
  }

  void process(Pass&, Batch&, uint8_t) override {}

  uint32_t poll(Pass& pass) override {
    Batch& batch = pass.fresh_batch();
    const uint32_t count = port_.receive(batch.packets, kBatchSize);
    if (count == 0) return 0;
    // Lengths are mostly the same, which two instructions for each tell; sum, minimum and maximum take several.
    uint32_t all_have = UINT32_MAX, any_has = 0;
    uint16_t segments = 0;
    _Pragma("GCC unroll 4") for (uint32_t i = 0; i < count; ++i) {
      const rte_mbuf* packet = batch.packets[i];
      all_have &= packet->pkt_len;
      any_has |= packet->pkt_len;
      segments |= packet->nb_segs;
    }
    batch.count = count;
    batch.bytes = count * any_has;
    batch.common = {
        .ingress_ns = pass.now_ns(), .enqueue_ns = pass.now_ns(), .least_bytes = all_have, .most_bytes = any_has};
    if (all_have != any_has) note_lengths(batch);
    pass.count_in(count, batch.bytes);
    const uint32_t max_bytes = port_.max_frame_bytes();
    if (segments == 1 && batch.common.most_bytes <= max_bytes) [[likely]] {
      pass.emit_all(0, batch);
    } else {
      write_meta(batch);
      Fates fates;
      for (uint32_t i = 0; i < count; ++i) fates[i] = fits(batch.packets[i], max_bytes) ? kPass : kOversize;
      pass.dispatch(batch, fates);
    }
    return count;
  }

  Wakeup wakeup() const override { return {.now = port_.must_poll(), .fd = port_.wait_fd(), .due_ns = 0}; }

 private:
  static constexpr Fate kPass{};
  static constexpr Fate kOversize{.dropped = true, .index = kFirstOwnReason};

  static void note_lengths(Batch& batch) {
    uint32_t bytes = 0, least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      bytes += batch.packets[i]->pkt_len;
      least = std::min(least, batch.packets[i]->pkt_len);
      most = std::max(most, batch.packets[i]->pkt_len);
    }
    batch.bytes = bytes;
    batch.common.least_bytes = least;
    batch.common.most_bytes = most;
  }

  // A frame in several pieces or longer than the port carries was cut or joined on its way here.
  static bool fits(const rte_mbuf* packet, uint32_t max_bytes) {
    return (packet->nb_segs == 1) & (packet->pkt_len <= max_bytes);
  }

  Port& port_;
};

}  // namespace

extern const ModuleKind kPortIn{
    .name = "port_in",
    .inputs = 0,
    .gates = 1,
    .role = ModuleKind::Role::kTask,
    .port_use = ModuleKind::PortUse::kReceives,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<PortIn>(context); },
};

}  // namespace orrery
