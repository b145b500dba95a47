// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/packet_meta.h"
#include "core/pass.h"
#include "core/splitter.h"
#include "modules/hash_split/flow_identity.h"
#include "modules/hash_split/flow_steering.h"
#include "modules/hash_split/held_flows.h"
#include "modules/hash_split/split_copy.h"
#include "modules/hash_split/split_ranges.h"
#include "support/clock.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

using nlohmann::json;

constexpr std::string_view kInvalidSplit = "invalid-config";

FlowKey read_key(JsonFields& fields, const std::string& pointer) {
  FlowKey key;
  const json& names = fields.array("key", 0, 5);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string at = pointer + "/key/" + std::to_string(i);
    if (!names[i].is_string()) throw EngineError(kInvalidSplit, at, "must be a string");
    const auto& name = names[i].get_ref<const std::string&>();
    bool* field = name == "ip.src"     ? &key.ip_src
                  : name == "ip.dst"   ? &key.ip_dst
                  : name == "ip.proto" ? &key.ip_proto
                  : name == "port.src" ? &key.port_src
                  : name == "port.dst" ? &key.port_dst
                                       : nullptr;
    if (field == nullptr) throw EngineError(kInvalidSplit, at, "there is no field " + name);
    if (*field) throw EngineError(kInvalidSplit, at, name + " appears twice");
    *field = true;
  }
  return key;
}

std::unique_ptr<FlowSteering> read_exceptions(JsonFields& fields) {
  if (fields.optional("exceptions") == nullptr) return nullptr;
  JsonFields limits(fields.object("exceptions"), fields.pointer_to("exceptions"), kInvalidSplit);
  const auto capacity = static_cast<uint32_t>(limits.integer_or("capacity", 1, kMaxTrackedFlows, 65536));
  const auto idle_s = static_cast<uint64_t>(limits.integer_or("idle_timeout_s", 1, 86400, 60));
  limits.done();
  return std::make_unique<FlowSteering>(SteeringLimits{capacity, idle_s * 1'000'000'000u});
}

struct RangeChange final : SplitChange {
  RangeChange(SplitRanges ranges, bool keep_flows) : ranges(std::move(ranges)), keep_flows(keep_flows) {}

  SplitRanges ranges;
  bool keep_flows;
};

struct Hold final : SplitHold {
  explicit Hold(std::unique_ptr<HeldFlows> flows) : flows(std::move(flows)) {}

  uint8_t to() const override { return flows->gates().to; }

  std::unique_ptr<HeldFlows> flows;
};

// Sends each flow out of the gate whose range holds its identity, or out of the one that it is kept at.
class HashSplit final : public Module, public Splitter {
 public:
  explicit HashSplit(const ModuleContext& context)
      : HashSplit(context, JsonFields(context.config, context.pointer, kInvalidSplit)) {}

  void process(Pass& pass, Batch& batch, uint8_t) override {
    if (held_ != nullptr && held_->due_ns() != 0) {
      if (!held_->has_room(kBatchSize)) held_->end(HeldFlows::End::kNoRoom);
      if (held_->is_over()) go_on(pass);
    }
    pass_on(pass, batch, true);
  }

  uint64_t due_ns() const override { return held_ == nullptr ? 0 : held_->due_ns(); }

  void on_timer(Pass& pass) override {
    if (!held_->is_over() && pass.now_ns() >= held_->due_ns()) held_->end(HeldFlows::End::kTimeOut);
    if (held_->is_over()) go_on(pass);
  }

  std::optional<uint32_t> queue_depth() const override {
    return held_ == nullptr || held_->is_empty() ? std::nullopt : std::optional(held_->waiting());
  }

  void map_gates(const GateMap& gates) override { gate_map_ = gates; }

  void adopt(Module& old_module) noexcept override {
    auto& old = static_cast<HashSplit&>(old_module);
    Module::adopt(old);
    for (size_t gate = 0; gate < old.packets_.size(); ++gate)
      if (gate_map_[gate] != kGateGone) packets_[gate_map_[gate]] += old.packets_[gate];
    held_ = std::move(old.held_);
    if (held_ != nullptr) held_->end(HeldFlows::End::kNewGraph);
    if (steering_ == nullptr || old.steering_ == nullptr) return;
    if (key_ == old.key_) {
      steering_->adopt(*old.steering_, gate_map_);
    } else {
      steering_->count_displaced(old.steering_->exceptions());
    }
  }

  Splitter* splitter() override { return this; }

  std::unique_ptr<SplitChange> prepare(const json& ranges, bool keep_flows) const override {
    SplitRanges next(ranges, "/ranges");
    if (keep_flows && steering_ == nullptr)
      throw EngineError(kInvalidSplit, "/keep_flows", "it tracks no flows: its config has no exceptions");
    return std::make_unique<RangeChange>(std::move(next), keep_flows);
  }

  void take(SplitChange& change) noexcept override {
    auto& next = static_cast<RangeChange&>(change);
    std::swap(ranges_, next.ranges);
    if (steering_ != nullptr) steering_->ranges_changed(next.keep_flows);
  }

  bool settle(size_t rows) noexcept override {
    return steering_ != nullptr && steering_->settle(ranges_, rows, monotonic_ns());
  }

  std::unique_ptr<SplitHold> prepare_hold(JsonFields& params) const override {
    if (steering_ == nullptr)
      throw EngineError(kInvalidSplit, "/module", "it tracks no flows: its config has no exceptions");
    FlowSelector selector = parse_flow_selector(params.required("flows"), params.pointer_to("flows"), key_);
    const auto from = static_cast<uint8_t>(params.integer("from", 0, kMaxGates - 1));
    const auto to = static_cast<uint8_t>(params.integer("to", 0, kMaxGates - 1));
    const auto hold_ms = static_cast<uint64_t>(params.integer_or("hold_ms", 1, 2000, 500));
    params.done();
    return std::make_unique<Hold>(
        std::make_unique<HeldFlows>(std::move(selector), HeldFlows::Gates{from, to}, hold_ms * 1'000'000));
  }

  bool hold(std::unique_ptr<SplitHold>& hold, uint64_t now_ns) noexcept override {
    if (held_ != nullptr && held_->due_ns() != 0) return false;
    std::swap(held_, static_cast<Hold&>(*hold).flows);
    held_->begin(now_ns);
    return true;
  }

  const char* end_hold(bool steer) noexcept override {
    const auto ended = held_ == nullptr ? HeldFlows::End::kLetGo : held_->ended();
    if (ended == HeldFlows::End::kNot) held_->end(steer ? HeldFlows::End::kSteered : HeldFlows::End::kLetGo);
    if (!steer) return nullptr;
    switch (ended) {
      case HeldFlows::End::kNot:
        steered_from_ = 0;
        steered_ = 0;
        return nullptr;
      case HeldFlows::End::kTimeOut:
        return "the packets have waited for too long and went on where they were";
      case HeldFlows::End::kNoRoom:
        return "more packets came than can wait, and went on where they were";
      case HeldFlows::End::kNewGraph:
        return "another graph was applied, and the packets went on where they were";
      case HeldFlows::End::kSteered:
      case HeldFlows::End::kLetGo:
        break;
    }
    return "no packets wait there";
  }

  bool steer_held(size_t rows, HoldFigures& out) noexcept override {
    if (steered_from_) {
      const auto [from, to] = held_->gates();
      steered_from_ = steering_->reroute_some(
          *steered_from_, static_cast<uint32_t>(rows), ranges_, from, to, monotonic_ns(),
          [this](const FlowIdentity& flow) { return held_->selects(flow); }, steered_);
      if (steered_from_) return true;
      out.flows = steered_;
      out.table_full = steering_->table().full();
    }
    out.packets = held_ == nullptr ? 0 : held_->waited();
    return false;
  }

  void expire(uint64_t now_ns) noexcept override {
    if (steering_ != nullptr) steering_->expire(now_ns, kExpiredPerReading);
  }

  void read_figures(SplitFigures& out) const override {
    if (steering_ != nullptr) {
      out.tracks = true;
      out.flows = steering_->flows();
      out.exceptions = steering_->exceptions();
      out.exception_packets = steering_->exception_packets();
      out.untracked = steering_->untracked();
      out.displaced = steering_->displaced();
    }
    for (size_t gate = 0; gate < packets_.size(); ++gate) {
      SplitGate at{.packets = packets_[gate]};
      if (steering_ != nullptr) {
        at.flows = steering_->flows_at(static_cast<uint8_t>(gate));
        at.exceptions = steering_->exceptions_at(static_cast<uint8_t>(gate));
      }
      if (gate < ranges_.gates() || at.packets != 0 || at.flows != 0) {
        out.gates.resize(gate + 1);
        out.gates[gate] = at;
      }
    }
  }

  std::unique_ptr<StateCopy> copy_split(size_t limit) const override {
    return std::make_unique<SplitCopy>(ranges_, key_, steering_.get(), *this, limit);
  }

 private:
  static constexpr uint32_t kExpiredPerReading = 256;

  HashSplit(const ModuleContext& context, JsonFields fields)
      : key_(read_key(fields, context.pointer)),
        hash_(key_),
        identify_(key_),
        ranges_(fields.required("ranges"), context.pointer + "/ranges"),
        steering_(read_exceptions(fields)) {
    fields.done();
  }

  Fate fate_of(uint16_t gate) {
    ++packets_[gate];
    return {.dropped = false, .index = static_cast<uint8_t>(gate)};
  }

  // `fresh`: the packets have not waited here.
  void pass_on(Pass& pass, Batch& batch, bool fresh) {
    Fates fates;
    if (steering_ != nullptr) {
      find_kept(pass, batch, fates, fresh);
    } else {
      for (uint32_t i = 0; i < batch.count; ++i)
        fates[i] = fate_of(ranges_.gate_of(hash_(parsed_of(batch.packets[i]))));
    }
    pass.dispatch(batch, fates);
  }

  void find_kept(Pass& pass, Batch& batch, Fates& fates, bool fresh) {
    std::array<FlowIdentity, kBatchSize> flows;
    std::array<uint16_t, kBatchSize> hashes;
    std::array<uint16_t, kBatchSize> gates;
    for (uint32_t i = 0; i < batch.count; ++i) {
      const ParsedPacket& packet = parsed_of(batch.packets[i]);
      flows[i] = identify_(packet);
      hashes[i] = hash_(packet);
      gates[i] = ranges_.gate_of(hashes[i]);
    }
    steering_->steer(std::span(flows).first(batch.count), hashes, gates, pass.now_ns());
    if (steered_from_) [[unlikely]]
      reroute(pass, std::span(flows).first(batch.count), hashes, gates);
    if (fresh && held_ != nullptr && held_->due_ns() != 0) [[unlikely]]
      hold_back(batch, flows, gates);
    for (uint32_t i = 0; i < batch.count; ++i) fates[i] = fate_of(gates[i]);
  }

  // Flows whose turn has not come yet go to their new gate with their next packet.
  void reroute(const Pass& pass, std::span<const FlowIdentity> flows, std::span<const uint16_t> hashes,
               std::span<uint16_t> gates) {
    const auto [from, to] = held_->gates();
    for (size_t i = 0; i < flows.size(); ++i) {
      if (gates[i] != from || !held_->selects(flows[i])) continue;
      if (!steering_->reroute(flows[i], from, to, ranges_.gate_of(hashes[i]), pass.now_ns())) continue;
      gates[i] = to;
      ++steered_;
    }
  }

  // Takes packets of held flows out of the batch. Precondition: there is room for all.
  void hold_back(Batch& batch, std::span<const FlowIdentity> flows, std::span<uint16_t> gates) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < batch.count; ++i) {
      rte_mbuf* packet = batch.packets[i];
      if (held_->holds(flows[i], gates[i])) {
        batch.bytes -= packet->pkt_len;
        held_->put(packet);
      } else {
        gates[left] = gates[i];
        batch.packets[left++] = packet;
      }
    }
    batch.count = left;
  }

  // A batch of those that waited goes where its flows are now.
  void go_on(Pass& pass) {
    Batch batch;
    held_->take(batch);
    pass_on(pass, batch, false);
  }

  FlowKey key_;
  FlowHash hash_;
  FlowIdentifier identify_;
  SplitRanges ranges_;
  std::unique_ptr<FlowSteering> steering_;  // null: flows follow the ranges
  std::array<uint64_t, 256> packets_{};     // by gate
  GateMap gate_map_;
  std::unique_ptr<HeldFlows> held_;       // null: no packets have ever waited here
  std::optional<uint32_t> steered_from_;  // position from which on flows may not have been steered yet
  uint64_t steered_ = 0;
};

}  // namespace

extern const ModuleKind kHashSplit{
    .name = "hash_split",
    .inputs = 1,
    .gates = 256,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .timed = true,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> {
      return std::make_unique<HashSplit>(context);
    },
};

}  // namespace orrery
