// SPDX-License-Identifier: Apache-2.0
#include "modules/nf/nf_module.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "core/ages.h"
#include "core/packet_meta.h"
#include "core/parallel.h"
#include "core/pass.h"
#include "nfs/registry.h"

namespace orrery {

namespace {

std::vector<std::string> reasons_of(const NfCore& core) {
  std::vector<std::string> out;
  for (std::string_view reason : core.drop_reasons()) out.emplace_back(reason);
  return out;
}

std::unique_ptr<NextConfig> prepared(const NfCore& core, const nlohmann::json& config,
                                     const std::vector<MetadataField>& metadata, const std::string& pointer) {
  try {
    return core.prepare(config, metadata);
  } catch (const ConfigError& error) {
    throw EngineError("invalid-config", pointer + error.pointer, error.what());
  }
}

// Runs an NF core on packets. Inputs and gates: 0 forward, 1 return; gate 2: in a branch of a parallel step, what was
// dropped, as no-op packets for the merge.
class NfModule final : public Module {
 public:
  // `core`: null when that of the predecessor is taken over.
  NfModule(const ModuleContext& context, std::unique_ptr<NfCore> core, const NfCore& like)
      : Module(reasons_of(like), true),
        config_(context.config),
        metadata_(context.metadata),
        pointer_(context.pointer),
        takes_common_meta_(context.metadata.empty() && !like.reads_streams() && !like.resizes()),
        passes_frames_(like.passes_frames()),
        resizes_(like.resizes()),
        core_(std::move(core)) {}

  NfCore* nf() override { return core_.get(); }

  bool takes_common_meta() const override { return takes_common_meta_; }

  void process(Pass& pass, Batch& batch, uint8_t input) override {
    if (passes_frames_) return pass_frames(pass, batch, input);
    // Made in place: a copy of headers that were just parsed waits for all their small stores to finish.
    alignas(NfPacket) std::byte storage[kBatchSize * sizeof(NfPacket)];
    auto* packets = reinterpret_cast<NfPacket*>(storage);
    Verdicts verdicts;
    describe(batch, packets);
    if (core_->reads_streams()) show_streams(batch, packets);
    if (resizes_) offer_room(batch, packets);
    core_->process({packets, batch.count}, input == 0 ? Direction::kForward : Direction::kReturn,
                   {verdicts.data(), batch.count}, pass.now_ns());
    if (resizes_) resize(batch, packets);
    const Exit exit = exit_of(pass);
    // Mostly the whole batch goes on in one direction.
    static_assert(std::has_unique_object_representations_v<NfVerdict>);
    const NfVerdict& first = verdicts[0];
    const bool alike = std::memcmp(&verdicts[0], &verdicts[1], (batch.count - 1) * sizeof(NfVerdict)) == 0;
    if (alike && !first.drop) [[likely]] {
      if (!batch.common.holds())
        for (uint32_t i = 0; i < batch.count; ++i) write_back(batch.packets[i], packets[i]);
      leave_all(pass, batch, first.out, exit);
      return;
    }
    part(pass, batch, packets, verdicts, input, exit);
  }

  void prepare_adopt(Module& old_module) override {
    auto& old = static_cast<NfModule&>(old_module);
    if (config_ == old.config_ && metadata_ == old.metadata_) return;
    next_ = prepared(*old.core_, config_, metadata_, pointer_);
  }

  void adopt(Module& old_module) noexcept override {
    auto& old = static_cast<NfModule&>(old_module);
    Module::adopt(old);
    core_ = std::move(old.core_);
    if (next_ != nullptr) core_->take(*next_);
  }

  void settle() noexcept override { next_.reset(); }

  std::unique_ptr<NextConfig> prepare_config(const nlohmann::json& config) const override {
    return prepared(*core_, config, metadata_, "/config");
  }

  void take_config(NextConfig& next, nlohmann::json& config) noexcept override {
    core_->take(next);
    config_.swap(config);
  }

 private:
  static_assert(RTE_PKTMBUF_HEADROOM >= kLeastHeadroom);

  static void show_streams(const Batch& batch, NfPacket* packets) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      PacketMeta& meta = meta_of(batch.packets[i]);
      if (meta.has_stream) packets[i].stream = &meta.stream;
    }
  }

  using Verdicts = std::array<NfVerdict, kBatchSize>;

  // When the NF was done, and for how many packets each of these counts; a pass that does not measure: for none.
  struct Exit {
    uint64_t at_ns = 0;
    uint32_t stands_for = 0;
  };

  static Exit exit_of(Pass& pass) {
    if (!pass.measures()) return {};
    return {.at_ns = pass.end_ns(), .stands_for = pass.stands_for()};
  }

  void pass_frames(Pass& pass, Batch& batch, uint8_t input) {
    std::array<NfFrame, kBatchSize> frames;
    _Pragma("GCC unroll 4") for (uint32_t i = 0; i < batch.count; ++i)
        frames[i] = {bytes_of(batch.packets[i]), batch.packets[i]->data_len};
    core_->pass_frames({frames.data(), batch.count});
    const Exit exit = exit_of(pass);
    if (!batch.common.holds())
      for (uint32_t i = 0; i < batch.count; ++i) meta_of(batch.packets[i]).parsed_valid = false;
    leave_all(pass, batch, input == 0 ? Direction::kForward : Direction::kReturn, exit);
  }

  static void describe(const Batch& batch, NfPacket* packets) {
    if (batch.common.holds()) {
      describe<true>(batch, packets);
    } else {
      describe<false>(batch, packets);
    }
  }

  template <bool common>
  static void describe(const Batch& batch, NfPacket* packets) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      uint8_t* bytes = bytes_of(packet);
      const uint16_t length = packet->data_len, metadata = common ? 0 : meta_of(packet).metadata;
      new (packets + i) NfPacket{bytes, length, parse_packet({bytes, length}), metadata};
    }
  }

  static void write_back(rte_mbuf* packet, const NfPacket& seen) {
    PacketMeta& meta = meta_of(packet);
    meta.metadata = seen.metadata;
    meta.parsed_valid = false;
  }

  // Passes on all packets in one direction.
  void leave_all(Pass& pass, Batch& batch, Direction out, const Exit& exit) {
    if (exit.stands_for != 0) {
      Ages ages(*counters.latency, exit.at_ns, exit.stands_for);
      if (batch.common.holds()) {
        ages.add(batch.common.enqueue_ns, batch.count);
        // An NF that follows in the same pass is charged from here.
        batch.common.enqueue_ns = exit.at_ns;
      } else {
        for (uint32_t i = 0; i < batch.count; ++i) leave(batch.packets[i], ages, exit);
      }
    }
    if (out == Direction::kReturn && !batch.common.holds()) forget_identities(batch);
    pass.emit_all(static_cast<uint8_t>(out), batch);
  }

  static void leave(rte_mbuf* packet, Ages& ages, const Exit& exit) {
    PacketMeta& meta = meta_of(packet);
    ages.add(meta.enqueue_ns);
    meta.enqueue_ns = exit.at_ns;
  }

  // A reply is no copy of anything.
  static void forget_identities(const Batch& batch) {
    for (uint32_t i = 0; i < batch.count; ++i) meta_of(batch.packets[i]).packet_id = 0;
  }

  // Passes on or drops each packet by its verdict.
  void part(Pass& pass, Batch& batch, const NfPacket* packets, const Verdicts& verdicts, uint8_t input,
            const Exit& exit) {
    write_meta(batch);
    Fates fates;
    bool drops = false;
    {
      Ages ages(*counters.latency, exit.at_ns, exit.stands_for);
      for (uint32_t i = 0; i < batch.count; ++i) {
        if (verdicts[i].drop) {
          drops = true;
          fates[i] = {.dropped = true, .index = static_cast<uint8_t>(kFirstOwnReason + verdicts[i].drop_reason)};
          continue;
        }
        write_back(batch.packets[i], packets[i]);
        if (exit.stands_for != 0) leave(batch.packets[i], ages, exit);
        if (verdicts[i].out == Direction::kReturn) meta_of(batch.packets[i]).packet_id = 0;
        fates[i] = {.index = static_cast<uint8_t>(verdicts[i].out)};
      }
    }
    if (drops && input == 0 && pass.linked(kNfNoOpGate)) announce_drops(pass, batch, fates);
    pass.dispatch(batch, fates);
  }

  static void offer_room(const Batch& batch, NfPacket* packets) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      packets[i].headroom = rte_pktmbuf_headroom(batch.packets[i]);
      packets[i].tailroom = rte_pktmbuf_tailroom(batch.packets[i]);
    }
  }

  static void resize(Batch& batch, const NfPacket* packets) {
    batch.bytes = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      packet->data_off = static_cast<uint16_t>(packet->data_off + (packets[i].data - bytes_of(packet)));
      packet->data_len = static_cast<uint16_t>(packets[i].length);
      packet->pkt_len = packets[i].length;
      meta_of(packet).has_stream = false;
      batch.bytes += packets[i].length;
    }
  }

  // Takes dropped packets with an identity out of the batch, counts them and passes them on as no-op packets.
  void announce_drops(Pass& pass, Batch& batch, Fates& fates) {
    std::array<rte_mbuf*, kBatchSize> no_ops;
    uint32_t announced = 0, left = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      if (fates[i].dropped && meta_of(packet).packet_id != 0) {
        ++counters.drops[fates[i].index];
        batch.bytes -= packet->pkt_len;
        truncate(packet, kNoOpBytes);
        no_ops[announced++] = packet;
      } else {
        batch.packets[left] = packet;
        fates[left++] = fates[i];
      }
    }
    batch.count = left;
    pass.emit_no_ops(kNfNoOpGate, {no_ops.data(), announced});
  }

  nlohmann::json config_;
  std::vector<MetadataField> metadata_;
  std::string pointer_;
  bool takes_common_meta_;  // neither metadata nor streams matter to the NF, and lengths stay
  bool passes_frames_;
  bool resizes_;
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
          .gates = kNfNoOpGate + 1,
          .role = ModuleKind::Role::kStep,
          .port_use = ModuleKind::PortUse::kNone,
          .make = [factory = find_nf(name)](const ModuleContext& context) { return make_nf(factory, context); },
      });
    return out;
  }();
  return kinds;
}

}  // namespace orrery
