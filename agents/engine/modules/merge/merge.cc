// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/packet_meta.h"
#include "core/parallel.h"
#include "core/pass.h"
#include "modules/merge/copy_table.h"
#include "modules/merge/merge_changes.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

// What the NFs of a branch may do to their copy.
struct Branch {
  bool writes;
  ResizedAt resizes_at;
  bool operator==(const Branch&) const = default;
};

ResizedAt read_place(JsonFields& fields) {
  if (fields.required("resizes_at").is_null()) return ResizedAt::kNone;
  const std::string name = fields.string("resizes_at", 16);
  if (name == "l3") return ResizedAt::kL3;
  if (name == "l4") return ResizedAt::kL4;
  if (name == "payload") return ResizedAt::kPayload;
  if (name == "end") return ResizedAt::kEnd;
  fields.fail("resizes_at", "must be l3, l4, payload, end or null");
}

struct Config {
  bool nested;
  std::vector<Branch> branches;
  uint32_t capacity;
  uint64_t timeout_ns;
};

Config read_config(const ModuleContext& context) {
  Config config{};
  JsonFields fields(context.config, context.pointer, "invalid-config");
  fields.required("nested");
  config.nested = fields.boolean_or("nested", false);
  const nlohmann::json& branches = fields.array("branches", 2, kMaxCopies);
  size_t writers = 0, resizers = 0;
  for (size_t i = 0; i < branches.size(); ++i) {
    JsonFields entry(branches[i], fields.pointer_to("branches", i), "invalid-config");
    entry.required("writes");
    const Branch branch{entry.boolean_or("writes", false), read_place(entry)};
    entry.done();
    writers += branch.writes;
    if (branch.resizes_at != ResizedAt::kNone) {
      if (!branch.writes) entry.fail("resizes_at", "must be null in a branch that does not write");
      if (++resizers > 1) entry.fail("resizes_at", "must be null: another branch changes the length already");
    }
    config.branches.push_back(branch);
  }
  if (writers > 1 && writers == branches.size())
    fields.fail("branches", "must have one that does not write where several do");
  config.capacity = static_cast<uint32_t>(fields.integer_or("capacity", 64, 65536, 4096));
  config.timeout_ns = static_cast<uint64_t>(fields.integer_or("timeout_us", 100, 10'000'000, 100'000)) * 1000;
  fields.done();
  return config;
}

// Ends a parallel step (HydraNF 6.5.1): one packet from the copies of each, or none when a branch dropped its copy.
class Merge final : public Module {
 public:
  explicit Merge(const ModuleContext& context) : Merge(read_config(context)) {}

  ~Merge() override {
    for (CopyTable* table : {table_.get(), given_up_.get()})
      if (table != nullptr) free_all(*table);
  }

  void process(Pass& pass, Batch& batch, uint8_t input) override {
    Round round(pass);
    for (uint32_t i = 0; i < batch.count; ++i) table_->prefetch(meta_of(batch.packets[i]).packet_id);
    for (uint32_t i = 0; i < batch.count; ++i) take(round, batch.packets[i], input);
    end(round);
  }

  uint64_t due_ns() const override {
    if (given_up_ != nullptr && given_up_->open() != 0) return 1;
    const CopyTable::Entry* oldest = table_->oldest();
    return oldest == nullptr ? 0 : oldest->since_ns + config_.timeout_ns;
  }

  void on_timer(Pass& pass) override {
    Round round(pass);
    for (uint32_t n = 0; n < kBatchSize; ++n) {
      if (given_up_ != nullptr && given_up_->open() != 0) {
        give_up(round, *given_up_, *given_up_->oldest(), given_up_reason_);
        given_up_until_ns_ = pass.now_ns() + config_.timeout_ns;
        continue;
      }
      CopyTable::Entry* oldest = table_->oldest();
      if (oldest == nullptr || oldest->since_ns + config_.timeout_ns > pass.now_ns()) break;
      give_up(round, *table_, *oldest, kDropCopyLost);
    }
    end(round);
  }

  std::optional<uint32_t> queue_depth() const override {
    return table_->waiting() + (given_up_ == nullptr ? 0 : given_up_->waiting());
  }

  // Packets that wait go on waiting, as many as there is room for. With other branches they are given up: what was kept
  // of their copies does not fit.
  void adopt(Module& old_module) noexcept override {
    auto& old = static_cast<Merge&>(old_module);
    Module::adopt(old);
    const bool same = config_.branches == old.config_.branches;
    if (same && config_.capacity == old.config_.capacity) {
      table_.swap(old.table_);
      given_up_.swap(old.given_up_);
      given_up_reason_ = old.given_up_reason_;
      given_up_until_ns_ = old.given_up_until_ns_;
      return;
    }
    if (same) table_->take_newest(*old.table_);
    given_up_.swap(old.table_);
    given_up_reason_ = same ? kDropTableFull : kDropCopyLost;
    given_up_until_ns_ = UINT64_MAX;
    // What an earlier change left is at most what waited then: its merge has not run since.
    if (old.given_up_ != nullptr) counters.drops[old.given_up_reason_] += old.given_up_->waiting();
  }

 private:
  using State = CopyTable::State;

  static constexpr uint8_t kDropBranch = kFirstOwnReason;
  static constexpr uint8_t kDropCopyLost = kFirstOwnReason + 1;
  static constexpr uint8_t kDropTableFull = kFirstOwnReason + 2;
  static constexpr uint8_t kDropUnequal = kFirstOwnReason + 3;
  static constexpr uint8_t kDropLate = kFirstOwnReason + 4;
  static constexpr uint8_t kDropDuplicate = kFirstOwnReason + 5;
  static constexpr uint8_t kDropNoIdentity = kFirstOwnReason + 6;
  static constexpr uint8_t kDropNoBranch = kFirstOwnReason + 7;
  static constexpr uint8_t kDropNoMemory = kFirstOwnReason + 8;

  // What one run of the module emits.
  struct Round {
    explicit Round(Pass& running) : pass(running) {}
    Pass& pass;
    uint32_t merged_count = 0;
    uint32_t no_op_count = 0;
    // A copy completes one packet at most, and gives up one at most beside its own.
    std::array<rte_mbuf*, kBatchSize> merged;
    std::array<rte_mbuf*, size_t{2} * kBatchSize> no_ops;
  };

  explicit Merge(Config config)
      : Module({"branch_dropped", "copy_lost", "table_full", "unequal", "late_copy", "duplicate_copy", "no_identity",
                "no_branch", "no_memory"}),
        config_(std::move(config)),
        all_((1u << config_.branches.size()) - 1) {
    uint8_t writers = 0;
    for (const Branch& branch : config_.branches) writers += branch.writes;
    xors_ = writers > 1;
    base_slot_ = xors_ ? 1 : 0;
    // The unchanged copy first, then those of writing branches.
    uint8_t next = 1;
    for (size_t i = 0; i < config_.branches.size(); ++i) {
      const Branch& branch = config_.branches[i];
      slot_[i] = xors_ && branch.writes ? next++ : 0;
      if (branch.resizes_at == ResizedAt::kNone) continue;
      resized_at_ = branch.resizes_at;
      base_slot_ = slot_[i];
    }
    table_ = std::make_unique<CopyTable>(config_.capacity, next);
  }

  void take(Round& round, rte_mbuf* packet, uint8_t input) {
    if (input != kNoOpInput && input >= config_.branches.size()) {
      round.pass.drop(packet, kDropNoBranch);
    } else if (meta_of(packet).packet_id == 0) {
      round.pass.drop(packet, kDropNoIdentity);
    } else if (input == kNoOpInput) {
      take_no_op(round, packet);
    } else {
      take_copy(round, packet, input);
    }
  }

  void take_copy(Round& round, rte_mbuf* packet, uint8_t branch) {
    const PacketMeta& meta = meta_of(packet);
    CopyTable::Entry& entry = entry_of(round, meta.packet_id, State::kWaiting);
    const auto bit = static_cast<uint16_t>(1u << branch);
    if ((entry.arrived & bit) != 0) return round.pass.drop(packet, kDropDuplicate);
    entry.arrived |= bit;
    if (entry.state == State::kDone) return round.pass.drop(packet, kDropLate);
    if (entry.state == State::kDropped) {
      round.pass.discard(packet);
      return finish_if_accounted(round, entry);
    }
    entry.metadata |= meta.metadata;
    entry.ingress_ns = std::min(entry.ingress_ns, meta.ingress_ns);
    const uint64_t enqueue_ns = meta.enqueue_ns;
    hold(round, entry, packet, branch);
    if (entry.arrived == all_) complete(round, entry, enqueue_ns);
  }

  // Tells that some branch dropped its copy. Which one is unknown, so it counts as one branch of those that are
  // missing.
  void take_no_op(Round& round, rte_mbuf* packet) {
    CopyTable::Entry& entry = entry_of(round, meta_of(packet).packet_id, State::kDropped);
    if (entry.state == State::kDone) return round.pass.drop(packet, kDropLate);
    const bool first = entry.no_ops++ == 0;
    if (entry.state == State::kWaiting) {
      free_held(round, *table_, entry);
      table_->drop(entry);
    }
    if (first) ++counters.drops[kDropBranch];
    if (first && config_.nested) {
      announce(round, packet);
    } else {
      round.pass.discard(packet);
    }
    finish_if_accounted(round, entry);
  }

  // The entry of the packet; where there is none, a new one in that state.
  CopyTable::Entry& entry_of(Round& round, uint64_t id, State state) {
    const uint64_t now_ns = round.pass.now_ns();
    CopyTable::Entry* known = table_->find(id);
    if (known != nullptr) {
      if (known->state != State::kDone || remembered(*known, now_ns)) return *known;
      table_->forget(*known);
    } else if (given_up_ != nullptr && given_up_until_ns_ > now_ns) {
      known = given_up_->find(id);
      if (known != nullptr && known->state != State::kDone) give_up(round, *given_up_, *known, given_up_reason_);
      if (known != nullptr && remembered(*known, now_ns)) return *known;
    }
    if (table_->open() == table_->capacity()) give_up(round, *table_, *table_->oldest(), kDropTableFull);
    return table_->insert(id, state, now_ns);
  }

  bool remembered(const CopyTable::Entry& done, uint64_t now_ns) const {
    return done.since_ns + config_.timeout_ns > now_ns;
  }

  void finish_if_accounted(const Round& round, CopyTable::Entry& entry) {
    if (static_cast<size_t>(std::popcount(entry.arrived)) + entry.no_ops >= config_.branches.size())
      table_->finish(entry, round.pass.now_ns());
  }

  // With at most one writing branch its copy is kept, any before it has come.
  void hold(Round& round, const CopyTable::Entry& entry, rte_mbuf* packet, uint8_t branch) {
    rte_mbuf*& slot = table_->held(entry)[slot_[branch]];
    if (slot != nullptr && config_.branches[branch].writes) std::swap(slot, packet);
    if (slot == nullptr) {
      slot = packet;
    } else {
      round.pass.discard(packet);
    }
  }

  void complete(Round& round, CopyTable::Entry& entry, uint64_t enqueue_ns) {
    rte_mbuf* packet = nullptr;
    if (const uint8_t failed = take_merged(round, entry, packet); failed != 0)
      return give_up(round, *table_, entry, failed);
    PacketMeta& meta = meta_of(packet);
    meta.ingress_ns = entry.ingress_ns;
    meta.enqueue_ns = enqueue_ns;
    meta.metadata = entry.metadata;
    meta.parsed_valid = meta.has_stream = false;
    if (!config_.nested) meta.packet_id = 0;
    round.merged[round.merged_count++] = packet;
    table_->finish(entry, round.pass.now_ns());
  }

  // Takes the merged packet out of the entry and frees the other copies. Otherwise the drop reason, and all stay.
  uint8_t take_merged(Round& round, const CopyTable::Entry& entry, rte_mbuf*& packet) {
    rte_mbuf** held = table_->held(entry);
    if (xors_) {
      // A full copy by the mirror; it is shared only where that was told otherwise.
      if (!own_bytes(held[base_slot_])) return kDropNoMemory;
      std::array<std::span<const uint8_t>, kMaxCopies> others;
      size_t count = 0;
      for (uint32_t slot = 1; slot < table_->held_each(); ++slot)
        if (slot != base_slot_) others[count++] = {bytes_of(held[slot]), held[slot]->data_len};
      rte_mbuf* base = held[base_slot_];
      if (!merge_changes({bytes_of(base), base->data_len}, {bytes_of(held[0]), held[0]->data_len},
                         {others.data(), count}, resized_at_))
        return kDropUnequal;
    }
    packet = std::exchange(held[base_slot_], nullptr);
    free_held(round, *table_, entry);
    return 0;
  }

  // Precondition: the entry is open.
  void give_up(Round& round, CopyTable& table, CopyTable::Entry& entry, uint8_t reason) {
    if (entry.state == State::kWaiting) {
      ++counters.drops[reason];
      rte_mbuf** held = table.held(entry);
      rte_mbuf** some =
          std::find_if(held, held + table.held_each(), [](const rte_mbuf* packet) { return packet != nullptr; });
      if (config_.nested) announce(round, std::exchange(*some, nullptr));
      free_held(round, table, entry);
    }
    table.finish(entry, round.pass.now_ns());
  }

  static void announce(Round& round, rte_mbuf* packet) {
    truncate(packet, kNoOpBytes);
    round.no_ops[round.no_op_count++] = packet;
  }

  static void free_held(Round& round, CopyTable& table, const CopyTable::Entry& entry) {
    rte_mbuf** held = table.held(entry);
    for (uint32_t slot = 0; slot < table.held_each(); ++slot)
      if (rte_mbuf* packet = std::exchange(held[slot], nullptr); packet != nullptr) round.pass.discard(packet);
  }

  static void free_all(CopyTable& table) {
    for (CopyTable::Entry* entry = table.oldest(); entry != nullptr; entry = table.oldest()) {
      rte_mbuf** held = table.held(*entry);
      for (uint32_t slot = 0; slot < table.held_each(); ++slot) rte_pktmbuf_free(std::exchange(held[slot], nullptr));
      table.finish(*entry, 0);
    }
  }

  static void end(const Round& round) {
    round.pass.emit(0, {round.merged.data(), round.merged_count});
    round.pass.emit_no_ops(kMergeNoOpGate, {round.no_ops.data(), round.no_op_count});
  }

  Config config_;
  unsigned all_;       // branches, by bit
  bool xors_ = false;  // several branches write
  ResizedAt resized_at_ = ResizedAt::kNone;
  std::array<uint8_t, kMaxCopies> slot_{};  // by branch: which of the held packets its copy is
  uint8_t base_slot_ = 0;                   // of the copy that becomes the merged packet
  std::unique_ptr<CopyTable> table_;
  std::unique_ptr<CopyTable> given_up_;  // what a change of the graph left no room for
  uint64_t given_up_until_ns_ = 0;       // when all of that may be forgotten
  uint8_t given_up_reason_ = kDropCopyLost;
};

}  // namespace

extern const ModuleKind kMerge{
    .name = "merge",
    .inputs = kNoOpInput + 1,
    .gates = kMergeNoOpGate + 1,
    .role = ModuleKind::Role::kStep,
    .port_use = ModuleKind::PortUse::kNone,
    .timed = true,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> { return std::make_unique<Merge>(context); },
};

}  // namespace orrery
