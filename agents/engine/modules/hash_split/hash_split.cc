// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "modules/hash_split/flow_hash.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

FlowKey read_key(JsonFields& fields, const std::string& pointer) {
  FlowKey key;
  const nlohmann::json& names = fields.array("key", 0, 5);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string at = pointer + "/key/" + std::to_string(i);
    if (!names[i].is_string()) throw EngineError("invalid-config", at, "must be a string");
    const auto& name = names[i].get_ref<const std::string&>();
    bool* field = name == "ip.src"     ? &key.ip_src
                  : name == "ip.dst"   ? &key.ip_dst
                  : name == "ip.proto" ? &key.ip_proto
                  : name == "port.src" ? &key.port_src
                  : name == "port.dst" ? &key.port_dst
                                       : nullptr;
    if (field == nullptr) throw EngineError("invalid-config", at, "there is no field " + name);
    if (*field) throw EngineError("invalid-config", at, name + " appears twice");
    *field = true;
  }
  return key;
}

// Sends each flow out of the gate whose range holds its identity.
class HashSplit final : public Module {
 public:
  explicit HashSplit(const ModuleContext& context)
      : HashSplit(context, JsonFields(context.config, context.pointer, kCode)) {}

  void process(Pass& pass, Batch& batch, uint8_t) override {
    Fates fates;
    for (uint32_t i = 0; i < batch.count; ++i) {
      const uint32_t flow = hash_(parsed_of(batch.packets[i]));
      const auto range = std::ranges::upper_bound(ranges_, flow, {}, &Range::hi);
      const bool found = range != ranges_.end() && flow >= range->lo;
      fates[i] = found ? Fate{.index = range->gate} : kNoRange;
    }
    pass.dispatch(batch, fates);
  }

 private:
  static constexpr std::string_view kCode = "invalid-config";
  static constexpr Fate kNoRange{.dropped = true, .index = kFirstOwnReason};

  struct Range {
    uint32_t lo;
    uint32_t hi;
    uint8_t gate;
    size_t index;
  };

  HashSplit(const ModuleContext& context, JsonFields fields)
      : Module({"no_range"}), hash_(read_key(fields, context.pointer)) {
    const std::string pointer = context.pointer + "/ranges/";
    const nlohmann::json& ranges = fields.array("ranges", 1, 256);
    for (size_t i = 0; i < ranges.size(); ++i) {
      JsonFields entry(ranges[i], pointer + std::to_string(i), kCode);
      JsonFields bounds(entry.object("range"), entry.pointer_to("range"), kCode);
      Range range{};
      range.lo = static_cast<uint32_t>(bounds.integer("lo", 0, kFlowSpace - 1));
      range.hi = static_cast<uint32_t>(bounds.integer("hi", range.lo + 1, kFlowSpace));
      bounds.done();
      range.gate = static_cast<uint8_t>(entry.integer("gate", 0, 255));
      range.index = i;
      entry.done();
      ranges_.push_back(range);
    }
    fields.done();
    std::ranges::sort(ranges_, {}, &Range::lo);
    for (size_t i = 1; i < ranges_.size(); ++i)
      if (ranges_[i].lo < ranges_[i - 1].hi)
        throw EngineError(kCode, pointer + std::to_string(ranges_[i].index) + "/range", "overlaps another range");
  }

  FlowHash hash_;
  std::vector<Range> ranges_;  // ascending, disjoint
};

}  // namespace

extern const ModuleKind kHashSplit{
    .name = "hash_split",
    .inputs = 1,
    .gates = 256,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> {
      return std::make_unique<HashSplit>(context);
    },
};

}  // namespace orrery
