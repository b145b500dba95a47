// SPDX-License-Identifier: Apache-2.0
#include "core/pass.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Passes everything on; its counters are its purpose.
class Counter final : public Module {
 public:
  explicit Counter(const ModuleContext& context) {
    JsonFields(context.config, context.pointer, "invalid-config").done();
  }

  bool takes_common_meta() const override { return true; }

  void process(Pass& pass, Batch& batch, uint8_t) override { pass.emit_all(0, batch); }
};

}  // namespace

extern const ModuleKind kCounter{
    .name = "counter",
    .inputs = 1,
    .gates = 1,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Counter>(context); },
};

}  // namespace orrery
