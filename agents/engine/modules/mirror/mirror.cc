// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "core/packet_meta.h"
#include "core/parallel.h"
#include "core/pass.h"
#include "modules/mirror/identities.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// Begins a parallel step (HydraNF 6.5.1): a copy of each packet on each gate; with one gate, a switch makes the copies.
// Copies for branches that do not write share the bytes of the original.
class Mirror final : public Module {
 public:
  explicit Mirror(const ModuleContext& context) : Module({"copy_failed"}), pool_(context.pool) {
    JsonFields fields(context.config, context.pointer, kCode);
    fields.required("nested");
    nested_ = fields.boolean_or("nested", false);
    if (!nested_) identities_ = std::make_unique<Identities>();
    const nlohmann::json& copies = fields.array("copies", 1, kMaxCopies);
    for (size_t i = 0; i < copies.size(); ++i) {
      JsonFields copy(copies[i], fields.pointer_to("copies", i), kCode);
      copy.required("writes");
      writes_.push_back(copy.boolean_or("writes", false));
      copy.done();
    }
    fields.done();
    others_ = static_cast<uint32_t>(writes_.size() - 1);
    const auto reader = std::ranges::find(writes_, false);
    original_ = reader == writes_.end() ? 0 : static_cast<size_t>(reader - writes_.begin());
  }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    rte_mbuf* fresh[kBatchSize * (kMaxCopies - 1)];
    make_room(pass, batch, fresh);
    if (!nested_) identify(batch, pass.now_ns());
    fill(batch, fresh);
    rte_mbuf** copies = fresh;
    const uint32_t count = batch.count;
    for (size_t gate = 0; gate < writes_.size(); ++gate) {
      if (gate == original_) {
        pass.emit_all(static_cast<uint8_t>(gate), batch);
      } else {
        pass.emit(static_cast<uint8_t>(gate), {copies, count});
        copies += count;
      }
    }
  }

  void adopt(Module& old_module) noexcept override {
    Module::adopt(old_module);
    auto& old = static_cast<Mirror&>(old_module);
    if (!nested_ && old.identities_ != nullptr) identities_.swap(old.identities_);
  }

 private:
  static constexpr std::string_view kCode = "invalid-config";
  static constexpr uint8_t kDropCopyFailed = kFirstOwnReason;

  // Allocates the other copies, by gate. A packet for which the pool has too few is dropped: half a set of copies would
  // wait in the merge in vain.
  void make_room(Pass& pass, Batch& batch, rte_mbuf** fresh) {
    if (writes_[original_]) keep_if(pass, batch, [](uint32_t, rte_mbuf*& packet) { return own_bytes(packet); });
    if (rte_pktmbuf_alloc_bulk(pool_, fresh, batch.count * others_) == 0) [[likely]]
      return;
    keep_if(pass, batch, [&](uint32_t nth, rte_mbuf*&) {
      return rte_pktmbuf_alloc_bulk(pool_, fresh + size_t{nth} * others_, others_) == 0;
    });
  }

  // `keeps` is given how many packets were kept before, and the packet.
  template <class Keeps>
  static void keep_if(Pass& pass, Batch& batch, Keeps&& keeps) {
    uint32_t kept = 0;
    batch.bytes = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      if (!keeps(kept, packet)) {
        pass.drop(packet, kDropCopyFailed);
        continue;
      }
      batch.packets[kept++] = packet;
      batch.bytes += packet->pkt_len;
    }
    batch.count = kept;
  }

  void identify(const Batch& batch, uint64_t now_ns) {
    for (uint32_t i = 0; i < batch.count; ++i) {
      PacketMeta& meta = meta_of(batch.packets[i]);
      meta.packet_id = identities_->next(meta.ingress_ns, now_ns);
    }
  }

  void fill(const Batch& batch, rte_mbuf** copies) const {
    for (size_t gate = 0; gate < writes_.size(); ++gate) {
      if (gate == original_) continue;
      for (uint32_t i = 0; i < batch.count; ++i) {
        if (writes_[gate]) {
          copy_into(copies[i], batch.packets[i]);
        } else {
          share_into(copies[i], batch.packets[i]);
        }
      }
      copies += batch.count;
    }
  }

  rte_mempool* pool_;
  bool nested_ = false;
  std::vector<bool> writes_;  // by gate
  uint32_t others_ = 0;       // copies beside the original
  size_t original_ = 0;       // gate that gets the original: of a branch that does not write, if there is one
  std::unique_ptr<Identities> identities_;  // null in a nested step, whose packets have theirs
};

}  // namespace

extern const ModuleKind kMirror{
    .name = "mirror",
    .inputs = 1,
    .gates = kMaxCopies,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Mirror>(context); },
};

}  // namespace orrery
