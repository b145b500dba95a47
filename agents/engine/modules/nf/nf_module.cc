// SPDX-License-Identifier: Apache-2.0
#include "modules/nf/nf_module.h"

#include <array>
#include <cstddef>
#include <new>

#include "core/ages.h"
#include "core/packet_meta.h"
#include "core/pass.h"
#include "nfs/registry.h"

namespace orrery {

namespace {

std::vector<std::string> reasons_of(const NfCore& core) {
  std::vector<std::string> out;
  for (std::string_view reason : core.drop_reasons()) out.emplace_back(reason);
  return out;
}

// Runs an NF core on packets. Inputs and gates: 0 forward, 1 return.
class NfModule final : public Module {
 public:
  // `core`: null when that of the predecessor is taken over.
  NfModule(const ModuleContext& context, std::unique_ptr<NfCore> core, const NfCore& like)
      : Module(reasons_of(like), true),
        config_(context.config),
        metadata_(context.metadata),
        pointer_(context.pointer),
        core_(std::move(core)) {}

  NfCore* nf() override { return core_.get(); }

  void process(Pass& pass, Batch& batch, uint8_t input) override {
    // Made in place: a copy of headers that were just parsed waits for all their small stores to finish.
    alignas(NfPacket) std::byte storage[kBatchSize * sizeof(NfPacket)];
    auto* packets = reinterpret_cast<NfPacket*>(storage);
    std::array<NfVerdict, kBatchSize> verdicts;
    const bool parse = core_->reads_headers();
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      uint8_t* bytes = bytes_of(packet);
      const uint16_t length = packet->data_len, metadata = meta_of(packet).metadata;
      if (parse) {
        new (packets + i) NfPacket{bytes, length, parse_packet({bytes, length}), metadata};
      } else {
        new (packets + i) NfPacket{bytes, length, {}, metadata};
      }
    }
    core_->process({packets, batch.count}, input == 0 ? Direction::kForward : Direction::kReturn,
                   {verdicts.data(), batch.count}, pass.now_ns());
    Fates fates;
    Ages ages(*counters.latency, pass.exact_now_ns());
    for (uint32_t i = 0; i < batch.count; ++i) {
      if (verdicts[i].drop) {
        fates[i] = {.dropped = true, .index = static_cast<uint8_t>(kFirstOwnReason + verdicts[i].drop_reason)};
        continue;
      }
      PacketMeta& meta = meta_of(batch.packets[i]);
      meta.metadata = packets[i].metadata;
      meta.parsed_valid = false;
      ages.add(meta.enqueue_ns);
      fates[i] = {.index = static_cast<uint8_t>(verdicts[i].out)};
    }
    pass.dispatch(batch, fates);
  }

  void prepare_adopt(Module& old_module) override {
    auto& old = static_cast<NfModule&>(old_module);
    if (config_ == old.config_ && metadata_ == old.metadata_) return;
    try {
      next_ = old.core_->prepare(config_, metadata_);
    } catch (const ConfigError& error) {
      throw EngineError("invalid-config", pointer_ + error.pointer, error.what());
    }
  }

  void adopt(Module& old_module) noexcept override {
    auto& old = static_cast<NfModule&>(old_module);
    Module::adopt(old);
    core_ = std::move(old.core_);
    if (next_ != nullptr) core_->take(*next_);
  }

  void settle() noexcept override { next_.reset(); }

 private:
  nlohmann::json config_;
  std::vector<MetadataField> metadata_;
  std::string pointer_;
  std::unique_ptr<NfCore> core_;
  std::unique_ptr<NextConfig> next_;
};

std::unique_ptr<Module> make_nf(NfFactory factory, const ModuleContext& context) {
  if (context.old != nullptr) return std::make_unique<NfModule>(context, nullptr, *context.old->nf());
  try {
    std::unique_ptr<NfCore> core = factory(context.config, context.metadata);
    const NfCore& like = *core;
    return std::make_unique<NfModule>(context, std::move(core), like);
  } catch (const ConfigError& error) {
    throw EngineError("invalid-config", context.pointer + error.pointer, error.what());
  }
}

}  // namespace

std::span<const ModuleKind> nf_module_kinds() {
  static const std::vector<ModuleKind> kinds = [] {
    std::vector<ModuleKind> out;
    for (std::string_view name : nf_kinds())
      out.push_back({
          .name = name,
          .inputs = 2,
          .gates = 2,
          .role = ModuleKind::Role::kStep,
          .port_use = ModuleKind::PortUse::kNone,
          .make = [factory = find_nf(name)](const ModuleContext& context) { return make_nf(factory, context); },
      });
    return out;
  }();
  return kinds;
}

}  // namespace orrery
