// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <new>
#include <type_traits>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "nfs/bytestream/bytestream_core.h"

namespace orrery {

namespace {

// Reassembles TCP streams for the NFs behind it, once for all of them (E2 3.6.1). Passes on every packet at once, with
// what it made contiguous of its stream. A packet that comes from another bytestream keeps what it has.
class BytestreamModule final : public Module {
 public:
  explicit BytestreamModule(const ModuleContext& context) : config_(context.config), pointer_(context.pointer) {
    if (context.old == nullptr) core_ = refusing([&] { return bytestream::make(config_, context.stream_log); });
  }

  NfCore* nf() override { return core_.get(); }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    alignas(NfPacket) std::byte storage[kBatchSize * sizeof(NfPacket)];
    auto* packets = reinterpret_cast<NfPacket*>(storage);
    std::array<NfVerdict, kBatchSize> verdicts;
    size_t count = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      PacketMeta& meta = meta_of(packet);
      if (meta.has_stream) continue;
      meta.has_stream = true;
      new (packets + count++) NfPacket{.data = bytes_of(packet),
                                       .length = packet->data_len,
                                       .parsed = parse_packet({bytes_of(packet), packet->data_len}),
                                       .metadata = meta.metadata,
                                       .stream = &meta.stream};
    }
    core_->process({packets, count}, Direction::kForward, {verdicts.data(), count}, pass.now_ns());
    pass.emit_all(0, batch);
  }

  void prepare_adopt(Module& old_module) override {
    auto& old = static_cast<BytestreamModule&>(old_module);
    if (config_ != old.config_) next_ = refusing([&] { return old.core_->prepare(config_, {}); });
  }

  void adopt(Module& old_module) noexcept override {
    Module::adopt(old_module);
    core_ = std::move(static_cast<BytestreamModule&>(old_module).core_);
    if (next_ != nullptr) core_->take(*next_);
  }

  void settle() noexcept override { next_.reset(); }

 private:
  template <class Make>
  std::invoke_result_t<Make> refusing(Make&& make) const {
    try {
      return make();
    } catch (const ConfigError& error) {
      throw EngineError("invalid-config", pointer_ + error.pointer, error.what());
    }
  }

  nlohmann::json config_;
  std::string pointer_;
  std::unique_ptr<NfCore> core_;
  std::unique_ptr<NextConfig> next_;
};

}  // namespace

extern const ModuleKind kBytestream{
    .name = "bytestream",
    .inputs = 1,
    .gates = 1,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> {
      return std::make_unique<BytestreamModule>(context);
    },
};

}  // namespace orrery
