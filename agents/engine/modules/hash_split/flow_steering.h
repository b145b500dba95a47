// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/splitter.h"
#include "modules/hash_split/flow_identity.h"
#include "modules/hash_split/split_ranges.h"
#include "support/flow_table.h"

namespace orrery {

constexpr uint32_t kMaxTrackedFlows = 1u << 20;

struct SteeringLimits {
  uint32_t capacity;  // flows that are tracked, 1 to kMaxTrackedFlows
  uint64_t idle_ns;   // a flow without a packet for so long has ended
};

// The flows in progress and the gate of each. A flow goes where the ranges send its first packet, and stays there while
// it lasts, whatever ranges are put in force; where these would send it elsewhere it is an exception (E2 3.4.4). Flows
// that the table has no room for follow the ranges.
class FlowSteering {
 public:
  explicit FlowSteering(const SteeringLimits& limits);

  // Packets of one batch, at most kBatchSize, in order. `hashes`: H(f) of each. `gates`: where the ranges in force
  // lead, replaced by where each packet goes.
  void steer(std::span<const FlowIdentity> flows, std::span<const uint16_t> hashes, std::span<uint16_t> gates,
             uint64_t now_ns);

  // Other ranges are in force from now on. keep: flows stay at their gates; otherwise they follow the ranges.
  // Precondition: settled.
  void ranges_changed(bool keep);

  // Takes over the flows of another, of which as many stay as there is room for, the youngest. Precondition: both
  // settled, and this one is empty. Both the other and the map live until this is settled.
  void adopt(FlowSteering& old, const GateMap& gates) noexcept;

  // Goes through at most `rows` more flows after a change, fewer where they move from another table; false: through
  // all. `ranges`: those in force.
  bool settle(const SplitRanges& ranges, size_t rows, uint64_t now_ns) noexcept;

  // From now on the flow, if it is tracked and at the gate `from`, is at `to`. `by_range`: where the ranges in force
  // lead. Precondition: settled. Returns whether it was moved.
  bool reroute(const FlowIdentity& flow, uint8_t from, uint8_t to, uint16_t by_range, uint64_t now_ns) noexcept;

  // The same for the selected flows among at most `rows` more, from a position on. Returns the next position, nothing
  // at the end. Adds the number of flows to `moved`.
  template <class Selects>
  std::optional<uint32_t> reroute_some(uint32_t first, uint32_t rows, const SplitRanges& ranges, uint8_t from,
                                       uint8_t to, uint64_t now_ns, Selects&& selects, uint64_t& moved) noexcept {
    return table_.visit_positions(first, rows, [&](const Entry& at) {
      if (at.value.gate != from || idle_too_long(at, now_ns) || !selects(at.key)) return;
      place(table_.at(table_.id_of(at)), to, ranges.gate_of(at.value.hash));
      ++moved;
    });
  }

  // Forgets at most `limit` flows that have been idle too long.
  void expire(uint64_t now_ns, uint32_t limit) noexcept;

  struct Flow {
    uint16_t hash;  // H(f)
    uint8_t gate;
    uint8_t change;  // after which it was looked at last
    bool exception;  // the ranges send it elsewhere
  };
  using Table = FlowTable<FlowIdentity, Flow>;
  using Entry = Table::Entry;

  const Table& table() const { return table_; }
  // Those that have not moved yet included.
  uint32_t flows() const { return table_.size() + (leaving_ == nullptr ? 0 : leaving_->size()); }
  const SteeringLimits& limits() const { return limits_; }
  bool idle_too_long(const Entry& entry, uint64_t now_ns) const {
    return now_ns > entry.last_seen_ns && now_ns - entry.last_seen_ns >= limits_.idle_ns;
  }

  uint32_t flows_at(uint8_t gate) const { return at_gate_[gate].flows; }
  uint32_t exceptions_at(uint8_t gate) const { return at_gate_[gate].exceptions; }
  uint32_t exceptions() const { return exceptions_; }
  uint64_t exception_packets() const { return exception_packets_; }
  uint64_t untracked() const { return untracked_; }
  uint64_t displaced() const { return displaced_; }
  void count_displaced(uint64_t flows) { displaced_ += flows; }

 private:
  struct AtGate {
    uint32_t flows = 0;
    uint32_t exceptions = 0;
  };

  uint16_t gate_for(const FlowIdentity& flow, uint32_t table_hash, uint16_t hash, uint16_t by_range, uint64_t now_ns);
  uint16_t begin(const FlowIdentity& flow, uint32_t table_hash, uint16_t hash, uint16_t by_range, uint64_t now_ns);
  void review(Entry& entry, uint16_t by_range);
  void place(Entry& entry, uint8_t gate, uint16_t by_range);
  void forget(const Entry& entry);
  Entry* fetch(const FlowIdentity& flow, uint64_t now_ns);
  bool move_some(const SplitRanges& ranges, size_t rows, uint64_t now_ns) noexcept;

  SteeringLimits limits_;
  Table table_;
  std::array<AtGate, 256> at_gate_{};  // a flow that is not yet reviewed: at the gate it had before the change
  uint32_t exceptions_ = 0;
  uint64_t exception_packets_ = 0;
  uint64_t untracked_ = 0;
  uint64_t displaced_ = 0;

  uint8_t change_ = 0;
  bool keep_ = true;
  const GateMap* moved_gates_ = nullptr;
  Table* leaving_ = nullptr;           // of a predecessor with another capacity; the flows in it are counted here
  std::optional<uint32_t> unsettled_;  // position from which on flows may not be reviewed yet
};

}  // namespace orrery
