// SPDX-License-Identifier: Apache-2.0
// What NFs that keep state by flow have in common: a bounded table whose flows expire, make room for others, move to a
// table of another size and come in from another instance, each of which is counted.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "support/flow_table.h"

namespace orrery {

// Packets whose flows are looked up together.
inline constexpr size_t kFlowBatch = 32;
inline constexpr uint32_t kMaxFlows = 1u << 20;

struct FlowLimits {
  uint32_t max_flows;
  uint64_t idle_ns;
  uint64_t granularity_ns;          // of the order of last use; 0: exact
  uint64_t transitory_idle_ns = 0;  // of transitory flows, in place of idle_ns

  bool operator==(const FlowLimits&) const = default;
};

struct FlowFigures {
  uint32_t size = 0;
  uint32_t capacity = 0;
  uint64_t created = 0;  // by packets
  uint64_t expired = 0;
  uint64_t evicted = 0;         // to make room for new flows
  uint64_t lost_by_resize = 0;  // not moved to a new table
  uint64_t lost_by_import = 0;  // of those here and those that came in
};

// A flow whose value is `transitory()` (half-open or closing) is the first to make room, and has a time-out of its own
// (RFC 5382 5): whoever opens many and uses none displaces only such flows.
template <class Value>
concept MayBeTransitory = requires(const Value& value) {
  { value.transitory() } -> std::same_as<bool>;
};

template <class Key, class Value>
class FlowStore {
  // Transitory flows are on the second lane.
  static constexpr size_t kLanes = MayBeTransitory<Value> ? 2 : 1;
  static constexpr size_t kTransitory = kLanes - 1;

 public:
  using Table = FlowTable<Key, Value, kLanes>;
  using Entry = typename Table::Entry;

  // A flow outside of a table.
  struct Flow {
    Key key;
    Value value;
    uint64_t last_seen_ns;
  };

  explicit FlowStore(const FlowLimits& limits)
      : limits_(limits), table_(limits.max_flows, limits.granularity_ns), counts_{.capacity = limits.max_flows} {}

  const Table& table() const { return table_; }
  Table& table() { return table_; }
  const FlowLimits& limits() const { return limits_; }
  FlowFigures figures() const {
    FlowFigures out = counts_;
    out.size = table_.size();
    return out;
  }

  // Removes a few flows that have been idle too long, at most `limit` of each lane, each after on_erase(entry). Returns
  // how many.
  template <class OnErase>
  uint32_t expire(uint64_t now_ns, uint32_t limit, OnErase&& on_erase) {
    uint32_t count = 0;
    for (size_t lane = 0; lane < kLanes; ++lane)
      count += table_.expire(now_ns, idle_ns_of(lane), limit, on_erase, lane);
    counts_.expired += count;
    return count;
  }
  // Once a batch: more than the flows that a batch begins can be idle, so that tables empty themselves.
  void expire(uint64_t now_ns) {
    expire(now_ns, 4, [](const Entry&) {});
  }

  bool idle_too_long(const Entry& entry, uint64_t now_ns) const {
    return now_ns > entry.last_seen_ns && now_ns - entry.last_seen_ns >= idle_ns_of(table_.lane_of(entry));
  }
  void count_expired() { ++counts_.expired; }

  // Hashes of keys, for find() after this; fetches what it will read. Precondition for speed: FlowTable.
  void look_up(std::span<const Key> keys, std::span<uint32_t> hashes) const {
    for (size_t i = 0; i < keys.size(); ++i) {
      hashes[i] = table_.hash(keys[i]);
      table_.prefetch(hashes[i]);
    }
    for (size_t i = 0; i < keys.size(); ++i) table_.prefetch_entry(hashes[i]);
  }
  Entry* find(const Key& key, uint32_t hash) { return table_.find(key, hash); }
  // Precondition: the value is what it is from now on.
  void touch(Entry& entry, uint64_t now_ns) { table_.touch(entry, now_ns, lane_for(entry.value)); }

  // Whether there is room for a new flow, after idle flows and then the transitory flow idle longest have made room.
  bool make_room(uint64_t now_ns) {
    return !table_.full() || expire(now_ns, 1, [](const Entry&) {}) > 0 || evict_transitory();
  }

  // Removes the transitory flow idle longest, after on_erase(entry). False: there is none.
  template <class OnErase>
  bool evict_transitory(OnErase&& on_erase) {
    if constexpr (!MayBeTransitory<Value>) return false;
    Entry* entry = table_.oldest(kTransitory);
    if (entry == nullptr) return false;
    on_erase(*entry);
    evict(*entry);
    return true;
  }
  bool evict_transitory() {
    return evict_transitory([](const Entry&) {});
  }

  // A new flow. Preconditions: it is not known, and there is room.
  Entry& insert(const Key& key, uint32_t hash, uint64_t now_ns, const Value& value = {}) {
    ++counts_.created;
    Entry& entry = table_.insert(key, hash, now_ns, lane_for(value));
    entry.value = value;
    return entry;
  }
  // The same, where the flow that has been idle longest makes room: a transitory one, if there is any.
  Entry& insert_evicting(const Key& key, uint32_t hash, uint64_t now_ns, const Value& value = {}) {
    if (table_.full() && !evict_transitory()) evict(*table_.oldest());
    return insert(key, hash, now_ns, value);
  }

  // Where the last flow that came in from another instance stands.
  struct Place {
    const Entry* entry = nullptr;
    Key key{};
    uint64_t last_seen_ns = 0;
  };

  // A flow from another instance, at its age. Flows come in oldest first. Null where the table is full of younger
  // ones; transitory flows displace no others, and are displaced by any. Precondition: it is not known.
  Entry* import(const Flow& flow, uint32_t hash, Place& place) {
    const size_t lane = lane_for(flow.value);
    if (table_.full()) {
      ++counts_.lost_by_import;
      Entry* oldest = table_.oldest(kTransitory);
      if (oldest == nullptr && lane != kTransitory) oldest = table_.oldest();
      if (oldest == nullptr) return nullptr;
      if (table_.lane_of(*oldest) <= lane && oldest->last_seen_ns > flow.last_seen_ns) return nullptr;
      table_.erase(*oldest);
    }
    const bool placed = place.entry != nullptr && table_.is_unused(*place.entry, place.key, place.last_seen_ns);
    Entry& entry = table_.insert_by_age(flow.key, hash, flow.last_seen_ns, placed ? place.entry : nullptr, lane);
    entry.value = flow.value;
    place = {&entry, flow.key, flow.last_seen_ns};
    return &entry;
  }

  // New limits, and the table that they need, built beside the worker. With another table all flows are copied in one
  // pause; without, none is (docs/decisions/0032-flows-move-in-portions.md).
  struct Resize {
    // new_table: also where the limits would not need one.
    Resize(const FlowStore& from, const FlowLimits& to, bool new_table = false) : limits(to) {
      if (to.max_flows == from.limits_.max_flows && !new_table) return;
      table.emplace(to.max_flows, to.granularity_ns);
      kept.reserve(to.max_flows);
    }

    FlowLimits limits;
    std::optional<Table> table;
    std::vector<const Entry*> kept;
  };

  // Puts new limits in force. A new table gets the youngest flows for which keep(entry) holds, transitory ones only if
  // others leave room, each told to on_move(new entry).
  template <class Keep, class OnMove>
  void take(Resize& next, Keep&& keep, OnMove&& on_move) noexcept {
    std::swap(limits_, next.limits);
    counts_.capacity = limits_.max_flows;
    if (!next.table) return table_.set_granularity(limits_.granularity_ns);
    Table& to = *next.table;
    table_.for_each([&](const Entry& e) {
      if (keep(e)) next.kept.push_back(&e);
      return next.kept.size() < to.capacity();
    });
    std::ranges::reverse(next.kept);
    for (const Entry* e : next.kept) {
      const Key key = table_.key_of(*e);
      Entry& moved = to.insert(key, to.hash(key), e->last_seen_ns, table_.lane_of(*e));
      moved.value = e->value;
      on_move(moved);
    }
    counts_.lost_by_resize += table_.size() - to.size();
    std::swap(table_, to);
  }
  void take(Resize& next) noexcept {
    take(
        next, [](const Entry&) { return true; }, [](const Entry&) {});
  }

 private:
  static size_t lane_for(const Value& value) {
    if constexpr (MayBeTransitory<Value>) return value.transitory() ? kTransitory : 0;
    return 0;
  }

  uint64_t idle_ns_of(size_t lane) const { return lane == 0 ? limits_.idle_ns : limits_.transitory_idle_ns; }

  void evict(Entry& entry) {
    table_.erase(entry);
    ++counts_.evicted;
  }

  FlowLimits limits_;
  Table table_;
  FlowFigures counts_;
};

}  // namespace orrery
