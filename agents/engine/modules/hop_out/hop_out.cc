// SPDX-License-Identifier: Apache-2.0
#include "core/packet_meta.h"
#include "core/pass.h"
#include "support/hop_tag.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Addresses a frame to a hop: both MACs carry what the next engine must know.
class HopOut final : public Module {
 public:
  explicit HopOut(const ModuleContext& context) : Module({"runt", "no_memory"}) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    hop_ = static_cast<uint16_t>(fields.integer("hop", kMinHop, kMaxHop));
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    Fates fates;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf*& packet = batch.packets[i];
      if (packet->data_len < kEthernetHeader) [[unlikely]] {
        fates[i] = kRunt;
        continue;
      }
      if (!own_bytes(packet)) [[unlikely]] {
        fates[i] = kNoMemory;
        continue;
      }
      const PacketMeta& meta = meta_of(packet);
      write_hop_tag(bytes_of(packet), {hop_, meta.metadata}, meta.packet_id != 0 ? meta.packet_id : meta.ingress_ns);
    }
    pass.dispatch(batch, fates);
  }

 private:
  static constexpr Fate kRunt{.dropped = true, .index = kFirstOwnReason};
  static constexpr Fate kNoMemory{.dropped = true, .index = kFirstOwnReason + 1};

  uint16_t hop_;
};

}  // namespace

extern const ModuleKind kHopOut{
    .name = "hop_out",
    .inputs = 1,
    .gates = 1,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<HopOut>(context); },
};

}  // namespace orrery
