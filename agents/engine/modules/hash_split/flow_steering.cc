// SPDX-License-Identifier: Apache-2.0
#include "modules/hash_split/flow_steering.h"

#include <algorithm>
#include <utility>

#include "core/batch.h"

namespace orrery {

namespace {

// Of the order of last use, which only decides which flows are looked at for being idle.
constexpr uint64_t kOrderNs = 100'000'000;
// More than the flows that end in a batch, so that the table empties itself.
constexpr uint32_t kExpiredPerBatch = 4;
// To move a flow to another table takes as long as to look at so many.
constexpr size_t kRowsOfAMove = 4;

}  // namespace

FlowSteering::FlowSteering(const SteeringLimits& limits) : limits_(limits), table_(limits.capacity, kOrderNs) {}

void FlowSteering::steer(std::span<const FlowIdentity> flows, std::span<const uint16_t> hashes,
                         std::span<uint16_t> gates, uint64_t now_ns) {
  std::array<uint32_t, kBatchSize> table_hashes;
  for (size_t i = 0; i < flows.size(); ++i) {
    table_hashes[i] = table_.hash(flows[i]);
    table_.prefetch(table_hashes[i]);
  }
  for (size_t i = 0; i < flows.size(); ++i) table_.prefetch_entry(table_hashes[i]);
  for (size_t i = 0; i < flows.size(); ++i) gates[i] = gate_for(flows[i], table_hashes[i], hashes[i], gates[i], now_ns);
  expire(now_ns, kExpiredPerBatch);
}

uint16_t FlowSteering::gate_for(const FlowIdentity& flow, uint32_t table_hash, uint16_t hash, uint16_t by_range,
                                uint64_t now_ns) {
  Entry* entry = table_.find(flow, table_hash);
  if (entry == nullptr && leaving_ != nullptr) [[unlikely]]
    entry = fetch(flow, now_ns);
  if (entry == nullptr) return begin(flow, table_hash, hash, by_range, now_ns);
  if (idle_too_long(*entry, now_ns)) [[unlikely]] {
    forget(*entry);
    table_.erase(*entry);
    return begin(flow, table_hash, hash, by_range, now_ns);
  }
  if (entry->value.change != change_) [[unlikely]]
    review(*entry, by_range);
  table_.touch(*entry, now_ns);
  exception_packets_ += entry->value.exception ? 1 : 0;
  return entry->value.gate;
}

uint16_t FlowSteering::begin(const FlowIdentity& flow, uint32_t table_hash, uint16_t hash, uint16_t by_range,
                             uint64_t now_ns) {
  // Those that have not moved yet have their room.
  if (flows() >= limits_.capacity) expire(now_ns, 1);
  if (flows() >= limits_.capacity) {
    ++untracked_;
    return by_range;
  }
  Entry& entry = table_.insert(flow, table_hash, now_ns);
  entry.value = {.hash = hash, .gate = static_cast<uint8_t>(by_range), .change = change_, .exception = false};
  ++at_gate_[entry.value.gate].flows;
  return by_range;
}

void FlowSteering::ranges_changed(bool keep) {
  ++change_;
  keep_ = keep;
  moved_gates_ = nullptr;
  unsettled_ = 0;
}

void FlowSteering::adopt(FlowSteering& old, const GateMap& gates) noexcept {
  at_gate_ = old.at_gate_;
  exceptions_ = old.exceptions_;
  exception_packets_ += old.exception_packets_;
  untracked_ += old.untracked_;
  displaced_ += old.displaced_;
  change_ = old.change_ + 1;
  keep_ = true;
  moved_gates_ = &gates;
  unsettled_ = 0;
  if (limits_.capacity == old.limits_.capacity) {
    std::swap(table_, old.table_);
  } else {
    leaving_ = &old.table_;
  }
}

// A flow whose packet comes before its turn. It is the youngest, so in a full table the oldest makes room.
FlowSteering::Entry* FlowSteering::fetch(const FlowIdentity& flow, uint64_t now_ns) {
  Entry* left = leaving_->find(flow, leaving_->hash(flow));
  if (left == nullptr) return nullptr;
  Entry* moved = nullptr;
  if (idle_too_long(*left, now_ns)) {
    forget(*left);
  } else {
    if (table_.full()) {
      displaced_ += idle_too_long(*table_.oldest(), now_ns) ? 0 : 1;
      forget(*table_.oldest());
      table_.erase(*table_.oldest());
    }
    moved = &table_.insert(flow, table_.hash(flow), now_ns);
    moved->value = left->value;
  }
  leaving_->erase(*left);
  return moved;
}

// From the youngest to the oldest, each behind the one before: the order of last use is only coarse, and to look for
// each one's place by its time would take as long as there are flows in the grain of the order.
bool FlowSteering::move_some(const SplitRanges& ranges, size_t rows, uint64_t now_ns) noexcept {
  for (size_t n = 0; n < rows; n += kRowsOfAMove) {
    Entry* left = leaving_->youngest();
    if (left == nullptr) {
      leaving_ = nullptr;
      return false;
    }
    if (idle_too_long(*left, now_ns)) {
      forget(*left);
    } else if (table_.full()) {
      forget(*left);
      ++displaced_;
    } else {
      Entry& moved = table_.copy_as_oldest(*leaving_, *left);
      review(moved, ranges.gate_of(moved.value.hash));
    }
    leaving_->erase(*left);
  }
  return true;
}

bool FlowSteering::settle(const SplitRanges& ranges, size_t rows, uint64_t now_ns) noexcept {
  if (!unsettled_) return false;
  if (leaving_ != nullptr) {
    // What is in the table began after the change, or was looked at when it moved.
    if (move_some(ranges, rows, now_ns)) return true;
    unsettled_.reset();
    moved_gates_ = nullptr;
    return false;
  }
  unsettled_ = table_.visit_positions(*unsettled_, static_cast<uint32_t>(rows), [&](const Entry& at) {
    Entry& entry = table_.at(table_.id_of(at));
    if (idle_too_long(entry, now_ns)) {
      forget(entry);
      table_.erase(entry);
    } else if (entry.value.change != change_) {
      review(entry, ranges.gate_of(entry.value.hash));
    }
  });
  if (!unsettled_) moved_gates_ = nullptr;
  return unsettled_.has_value();
}

void FlowSteering::expire(uint64_t now_ns, uint32_t limit) noexcept {
  table_.expire(now_ns, limits_.idle_ns, limit, [this](const Entry& entry) { forget(entry); });
}

// Decides where a flow stays that was last looked at before the change.
void FlowSteering::review(Entry& entry, uint16_t by_range) {
  uint16_t gate = keep_ ? entry.value.gate : by_range;
  if (moved_gates_ != nullptr) gate = (*moved_gates_)[gate];
  if (moved_gates_ != nullptr && gate == kGateGone) {
    ++displaced_;
    gate = by_range;
  }
  place(entry, static_cast<uint8_t>(gate), by_range);
}

void FlowSteering::place(Entry& entry, uint8_t gate, uint16_t by_range) {
  forget(entry);
  const bool exception = gate != by_range;
  entry.value.gate = gate;
  entry.value.change = change_;
  entry.value.exception = exception;
  ++at_gate_[gate].flows;
  at_gate_[gate].exceptions += exception ? 1 : 0;
  exceptions_ += exception ? 1 : 0;
}

bool FlowSteering::reroute(const FlowIdentity& flow, uint8_t from, uint8_t to, uint16_t by_range,
                           uint64_t now_ns) noexcept {
  Entry* entry = table_.find(flow, table_.hash(flow));
  if (entry == nullptr || entry->value.gate != from || idle_too_long(*entry, now_ns)) return false;
  place(*entry, to, by_range);
  return true;
}

// Takes the flow out of the figures.
void FlowSteering::forget(const Entry& entry) {
  AtGate& at = at_gate_[entry.value.gate];
  --at.flows;
  if (!entry.value.exception) return;
  --at.exceptions;
  --exceptions_;
}

}  // namespace orrery
