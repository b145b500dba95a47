// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "support/hop_tag.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Reads the hop tag of a frame into its metadata and emits by hop.
class HopIn final : public Module {
 public:
  explicit HopIn(const ModuleContext& context) : Module({"runt", "no_tag", "unknown_hop"}) {
    gate_of_hop_.fill(kNoGate);
    JsonFields fields(context.config, context.pointer, "invalid-config");
    const nlohmann::json& hops = fields.array("hops", 0, 256);
    for (size_t i = 0; i < hops.size(); ++i) {
      JsonFields entry(hops[i], context.pointer + "/hops/" + std::to_string(i), "invalid-config");
      const auto hop = static_cast<size_t>(entry.integer("hop", kMinHop, kMaxHop));
      if (gate_of_hop_[hop] != kNoGate) entry.fail("hop", "appears twice");
      gate_of_hop_[hop] = static_cast<uint16_t>(entry.integer("gate", 0, 255));
      entry.done();
    }
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    Fates fates;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      if (packet->data_len < kEthernetHeader) [[unlikely]] {
        fates[i] = kRunt;
        continue;
      }
      const uint8_t* frame = bytes_of(packet);
      HopTag tag{};
      if (!read_hop_tag(frame, tag)) {
        fates[i] = kNoTag;
        continue;
      }
      const uint16_t gate = gate_of_hop_[tag.hop];
      if (gate == kNoGate) [[unlikely]] {
        fates[i] = kUnknownHop;
        continue;
      }
      PacketMeta& meta = meta_of(packet);
      meta.metadata = tag.metadata;
      meta.packet_id = read_stamp(frame);
      meta.ingress_ns = ingress_of_stamp(meta.packet_id, pass.now_ns());
      fates[i] = {.index = static_cast<uint8_t>(gate)};
    }
    pass.dispatch(batch, fates);
  }

 private:
  static constexpr Fate kRunt{.dropped = true, .index = kFirstOwnReason};
  static constexpr Fate kNoTag{.dropped = true, .index = kFirstOwnReason + 1};
  static constexpr Fate kUnknownHop{.dropped = true, .index = kFirstOwnReason + 2};
  static constexpr uint16_t kNoGate = UINT16_MAX;

  std::array<uint16_t, 65536> gate_of_hop_;
};

}  // namespace

extern const ModuleKind kHopIn{
    .name = "hop_in",
    .inputs = 1,
    .gates = 256,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<HopIn>(context); },
};

}  // namespace orrery
