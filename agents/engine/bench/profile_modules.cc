// SPDX-License-Identifier: Apache-2.0
#include "profile_modules.h"

#include <array>
#include <cstring>

#include "core/pass.h"
#include "full_batch.h"
#include "support/json_fields.h"
#include "udp_frame.h"

namespace orrery::bench {
namespace {

constexpr uint16_t kFlows = 1024;

class FullSource final : public TaskModule {
 public:
  FullSource(const ModuleContext& context, BatchTimes& times)
      : TaskModule({"no_memory"}), pool_(context.pool), times_(times) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    bytes_ = static_cast<uint16_t>(fields.integer("bytes", 60, 1514));
    if (fields.boolean_or("text", false)) text_bytes_ = bytes_ - kUdpHeaders;
    gap_ns_ = static_cast<uint64_t>(fields.integer_or("gap_us", 0, 1'000'000, 0)) * 1000;
    fields.done();
    for (uint16_t flow = 0; flow < kFlows; ++flow) write_udp_headers(headers_[flow].data(), bytes_, flow);
    for (uint32_t i = 0; i < text_.size(); ++i) text_[i] = static_cast<uint8_t>('a' + (i * 7 + i / 5) % 26);
  }

  void process(Pass&, Batch&, uint8_t) override {}

  uint32_t poll(Pass& pass) override {
    if (pass.now_ns() < due_ns_) return 0;
    due_ns_ = pass.now_ns() + gap_ns_;
    times_.mark(pass.busy_cycles(), kBatchSize);
    return emit_full_batch(pass, *this, pool_, bytes_, [this](uint8_t* frame) {
      std::memcpy(frame, headers_[flow_].data(), kUdpHeaders);
      if (text_bytes_ != 0) std::memcpy(frame + kUdpHeaders, text_.data(), text_bytes_);
      flow_ = (flow_ + 1) % kFlows;
    });
  }

  Wakeup wakeup() const override { return {.now = true}; }

 private:
  rte_mempool* pool_;
  BatchTimes& times_;
  std::array<std::array<uint8_t, kUdpHeaders>, kFlows> headers_;
  std::array<uint8_t, 1514 - kUdpHeaders> text_;
  uint16_t bytes_;
  uint32_t text_bytes_ = 0;
  uint16_t flow_ = 0;
  uint64_t gap_ns_ = 0;
  uint64_t due_ns_ = 0;
};

class Meter final : public Module {
 public:
  explicit Meter(BatchTimes& times) : times_(times) {}

  void process(Pass& pass, Batch& batch, uint8_t) override {
    times_.mark(pass.busy_cycles(), batch.count);
    pass.emit_all(0, batch);
  }

 private:
  BatchTimes& times_;
};

using Make = std::function<std::unique_ptr<Module>(const ModuleContext& context)>;

ModuleKind kind(std::string_view name, ModuleKind::Role role, uint8_t inputs, uint16_t gates, Make make) {
  return {
      .name = name,
      .inputs = inputs,
      .gates = gates,
      .role = role,
      .port_use = ModuleKind::PortUse::kNone,
      .make = std::move(make),
  };
}

}  // namespace

ModuleKind full_source(BatchTimes& times) {
  return kind("full_source", ModuleKind::Role::kTask, 0, 1,
              [&times](const ModuleContext& context) { return std::make_unique<FullSource>(context, times); });
}

ModuleKind meter(BatchTimes& times) {
  return kind("meter", ModuleKind::Role::kStep, 1, 1,
              [&times](const ModuleContext&) { return std::make_unique<Meter>(times); });
}

}  // namespace orrery::bench
