// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "core/ages.h"
#include "core/packet_meta.h"
#include "core/pass.h"
#include "support/hop_tag.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

MacAddress read_mac(JsonFields& fields, const char* name) {
  const std::string text = fields.string(name, 17);
  MacAddress mac{};
  bool ok = text.size() == 17;
  for (size_t i = 0; ok && i < 6; ++i) {
    const char* first = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(first, first + 2, mac[i], 16);
    ok = error == std::errc{} && end == first + 2 && (i == 5 || *end == ':');
  }
  if (!ok) fields.fail(name, "must be a MAC address such as 02:00:00:00:00:01");
  return mac;
}

// The end of a chain: measures the time since the first engine saw the packet and hands it to the fabric.
class Exit final : public Module {
 public:
  explicit Exit(const ModuleContext& context) : Module({"runt", "no_memory"}, true) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    fields.id("exit_id");
    destination_ = read_mac(fields, "dst_mac");
    source_ = read_mac(fields, "src_mac");
    fields.done();
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    Fates fates;
    Ages ages(*counters.latency, pass.exact_now_ns());
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
      ages.add(meta_of(packet).ingress_ns);
      write_macs(bytes_of(packet), destination_, source_);
    }
    pass.dispatch(batch, fates);
  }

 private:
  static constexpr Fate kRunt{.dropped = true, .index = kFirstOwnReason};
  static constexpr Fate kNoMemory{.dropped = true, .index = kFirstOwnReason + 1};

  MacAddress destination_;
  MacAddress source_;
};

}  // namespace

extern const ModuleKind kExit{
    .name = "exit",
    .inputs = 1,
    .gates = 1,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Exit>(context); },
};

}  // namespace orrery
