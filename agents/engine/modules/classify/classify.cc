// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "nfs/match.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Emits each packet by the first rule that it matches.
class Classify final : public Module {
 public:
  explicit Classify(const ModuleContext& context) : Module({"no_match"}) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    const nlohmann::json& rules = fields.array("rules", 0, 255);
    for (size_t i = 0; i < rules.size(); ++i) {
      JsonFields rule(rules[i], context.pointer + "/rules/" + std::to_string(i), "invalid-config");
      Match match = parse_match(rule.required("match"), rule.pointer_to("match"));
      rules_.push_back({std::move(match), {.index = static_cast<uint8_t>(rule.integer("gate", 0, 255))}});
      rule.done();
    }
    const nlohmann::json* gate = fields.optional("default_gate");
    if (gate != nullptr && !gate->is_null())
      default_fate_ = {.index = static_cast<uint8_t>(fields.integer("default_gate", 0, 255))};
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    Fates fates;
    for (uint32_t i = 0; i < batch.count; ++i) fates[i] = fate_of(batch.packets[i]);
    pass.dispatch(batch, fates);
  }

 private:
  static constexpr uint8_t kDropNoMatch = kFirstOwnReason;

  struct Rule {
    Match match;
    Fate fate;
  };

  Fate fate_of(rte_mbuf* packet) const {
    const ParsedPacket& parsed = parsed_of(packet);
    const uint16_t metadata = meta_of(packet).metadata;
    for (const Rule& rule : rules_)
      if (matches(rule.match, parsed, metadata)) return rule.fate;
    return default_fate_;
  }

  std::vector<Rule> rules_;
  Fate default_fate_{.dropped = true, .index = kDropNoMatch};
};

}  // namespace

extern const ModuleKind kClassify{
    .name = "classify",
    .inputs = 1,
    .gates = 256,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Classify>(context); },
};

}  // namespace orrery
