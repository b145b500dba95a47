// SPDX-License-Identifier: Apache-2.0
#include <rte_ethdev.h>

#include "core/pass.h"
#include "core/port.h"
#include "support/hop_tag.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

class PortOut final : public Module {
 public:
  explicit PortOut(const ModuleContext& context) : Module({"runt", "oversize", "port_full"}), port_(*context.port) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    fields.id("port");
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    rte_mbuf* packets[kBatchSize];
    const uint32_t max_bytes = port_.max_frame_bytes();
    uint16_t count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      if (packet->pkt_len < kEthernetHeader) [[unlikely]] {
        pass.drop(packet, kDropRunt);
      } else if (packet->pkt_len > max_bytes) [[unlikely]] {
        pass.drop(packet, kDropOversize);
      } else {
        bytes += packet->pkt_len;
        packets[count++] = packet;
      }
    }
    const uint16_t sent = rte_eth_tx_burst(port_.id(), 0, packets, count);
    for (uint16_t i = sent; i < count; ++i) {
      bytes -= packets[i]->pkt_len;
      pass.drop(packets[i], kDropPortFull);
    }
    pass.count_out(sent, bytes);
  }

 private:
  static constexpr uint8_t kDropRunt = kFirstOwnReason;
  static constexpr uint8_t kDropOversize = kFirstOwnReason + 1;
  static constexpr uint8_t kDropPortFull = kFirstOwnReason + 2;

  Port& port_;
};

}  // namespace

extern const ModuleKind kPortOut{
    .name = "port_out",
    .inputs = 1,
    .gates = 0,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kSends,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<PortOut>(context); },
};

}  // namespace orrery
