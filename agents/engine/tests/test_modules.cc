// SPDX-License-Identifier: Apache-2.0
#include "test_modules.h"

#include <array>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "support/json_fields.h"

namespace orrery::testing {
namespace {

int64_t read_one(const ModuleContext& context, const char* name) {
  JsonFields fields(context.config, context.pointer, "invalid-config");
  const int64_t value = fields.integer(name, 0, 100'000);
  fields.done();
  return value;
}

class Duplicator final : public Module {
 public:
  explicit Duplicator(const ModuleContext& context)
      : Module({"no_memory"}), pool_(context.pool), copies_(read_one(context, "copies")) {}

  void process(Pass& pass, Batch& batch, uint8_t) override {
    std::vector<rte_mbuf*> out;
    for (uint32_t i = 0; i < batch.count; ++i) {
      out.push_back(batch.packets[i]);
      for (int64_t n = 0; n < copies_; ++n) {
        if (rte_mbuf* copy = copy_packet(batch.packets[i], pool_)) {
          out.push_back(copy);
        } else {
          ++counters.drops[kFirstOwnReason];
        }
      }
    }
    pass.emit(0, out);
  }

 private:
  rte_mempool* pool_;
  int64_t copies_;
};

class Holder final : public Module {
 public:
  explicit Holder(const ModuleContext& context)
      : hold_ns_(static_cast<uint64_t>(read_one(context, "hold_ms")) * 1'000'000u) {}
  ~Holder() override { rte_pktmbuf_free_bulk(held_.data(), static_cast<unsigned>(held_.size())); }

  void process(Pass& pass, Batch& batch, uint8_t) override {
    if (held_.empty()) due_ns_ = pass.now_ns() + hold_ns_;
    held_.insert(held_.end(), batch.packets, batch.packets + batch.count);
  }

  uint64_t due_ns() const override { return due_ns_; }

  void on_timer(Pass& pass) override {
    pass.emit(0, held_);
    held_.clear();
    due_ns_ = 0;
  }

  void adopt(Module& old_module) noexcept override {
    auto& old = static_cast<Holder&>(old_module);
    Module::adopt(old);
    held_.swap(old.held_);
    due_ns_ = old.due_ns_;
  }

 private:
  uint64_t hold_ns_;
  uint64_t due_ns_ = 0;
  std::vector<rte_mbuf*> held_;
};

class Joiner final : public Module {
 public:
  explicit Joiner(const ModuleContext&) {}
  ~Joiner() override {
    for (auto& from : held_) rte_pktmbuf_free_bulk(from.data(), static_cast<unsigned>(from.size()));
  }

  void process(Pass& pass, Batch& batch, uint8_t input) override {
    held_[input].insert(held_[input].end(), batch.packets, batch.packets + batch.count);
    for (const auto& from : held_)
      if (from.empty()) return;
    for (size_t i = held_.size(); i-- > 0; held_[i].clear()) pass.emit(0, held_[i]);
  }

 private:
  std::array<std::vector<rte_mbuf*>, 3> held_;
};

template <class M>
ModuleKind kind(std::string_view name, uint8_t inputs, bool timed) {
  return {
      .name = name,
      .inputs = inputs,
      .gates = 1,
      .role = ModuleKind::Role::kStep,
      .port_use = ModuleKind::PortUse::kNone,
      .timed = timed,
      .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<M>(context); },
  };
}

}  // namespace

const ModuleKind kDuplicator = kind<Duplicator>("duplicator", 1, false);
const ModuleKind kHolder = kind<Holder>("holder", 1, true);
const ModuleKind kJoiner = kind<Joiner>("joiner", 3, false);

}  // namespace orrery::testing
