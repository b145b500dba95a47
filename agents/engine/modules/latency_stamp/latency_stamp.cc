// SPDX-License-Identifier: Apache-2.0
#include "core/packet_meta.h"
#include "core/pass.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Starts the latency measurement of `exit` anew.
class LatencyStamp final : public Module {
 public:
  explicit LatencyStamp(const ModuleContext& context) {
    JsonFields(context.config, context.pointer, "invalid-config").done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    const uint64_t now_ns = pass.exact_now_ns();
    for (uint32_t i = 0; i < batch.count; ++i) meta_of(batch.packets[i]).ingress_ns = now_ns;
    pass.emit_all(0, batch);
  }
};

}  // namespace

extern const ModuleKind kLatencyStamp{
    .name = "latency_stamp",
    .inputs = 1,
    .gates = 1,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> {
      return std::make_unique<LatencyStamp>(context);
    },
};

}  // namespace orrery
