// SPDX-License-Identifier: Apache-2.0
#include <rte_ethdev.h>

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
    Batch batch;
    const uint32_t count = rte_eth_rx_burst(port_.id(), 0, batch.packets, kBatchSize);
    if (count == 0) return 0;
    const uint64_t now_ns = pass.now_ns();
    bool all_fit = true;
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      bytes += packet->pkt_len;
      meta_of(packet).reset(now_ns);
      all_fit &= fits(packet);
    }
    batch.count = count;
    batch.bytes = bytes;
    pass.count_in(count, bytes);
    if (all_fit) [[likely]] {
      pass.emit_all(0, batch);
    } else {
      Fates fates;
      for (uint32_t i = 0; i < count; ++i) fates[i] = fits(batch.packets[i]) ? kPass : kOversize;
      pass.dispatch(batch, fates);
    }
    return count;
  }

  Wakeup wakeup() const override { return {.now = port_.must_poll(), .fd = port_.wait_fd(), .due_ns = 0}; }

 private:
  static constexpr Fate kPass{};
  static constexpr Fate kOversize{.dropped = true, .index = kFirstOwnReason};

  // A frame in several pieces or longer than the port carries was cut or joined on its way here.
  bool fits(const rte_mbuf* packet) const { return packet->nb_segs == 1 && packet->pkt_len <= port_.max_frame_bytes(); }

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
