// SPDX-License-Identifier: Apache-2.0
#include "core/pass.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Where packets end without being a loss.
class Sink final : public Module {
 public:
  explicit Sink(const ModuleContext& context) { JsonFields(context.config, context.pointer, "invalid-config").done(); }

  bool takes_common_meta() const override { return true; }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    for (uint32_t i = 0; i < batch.count; ++i) pass.discard(batch.packets[i]);
  }
};

}  // namespace

extern const ModuleKind kSink{
    .name = "sink",
    .inputs = 1,
    .gates = 0,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Sink>(context); },
};

}  // namespace orrery
