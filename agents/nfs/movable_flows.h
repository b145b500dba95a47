// SPDX-License-Identifier: Apache-2.0
// How an NF gives away a part of its flows while packets flow. A table is copied in portions, each small enough for one
// message; a portion that has arrived elsewhere is released, which removes those of its flows that no packet has used
// since they were copied. Both go in slices, for each of which the worker is parked, and read no other flows' values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "nfs/flow_rows.h"
#include "nfs/flow_selector.h"
#include "nfs/flow_store.h"
#include "nfs/nf_core.h"
#include "nfs/state_copy.h"
#include "support/clock.h"

namespace orrery {

// Where a copy stood in a table, and when it began. Positions mean nothing in another table.
struct FlowPortion {
  uint64_t table = 0;
  uint32_t first = 0;
  uint32_t end = 0;
  uint64_t as_of_ns = 0;
};

// Copies the selected flows of a portion. The portion and the rest are complete once copy() has returned false.
class PortionCopy : public StateCopy {
 public:
  virtual FlowPortion portion() const = 0;
  virtual bool is_last() const = 0;
  virtual size_t rows() const = 0;
};

// Removes flows in slices, as StateImport takes them in.
class FlowRelease {
 public:
  virtual ~FlowRelease() = default;

  // Looks at at most `rows` more positions. False: all were looked at. For the worker's pauses: allocates nothing.
  virtual bool release(size_t rows) noexcept = 0;
  uint64_t released = 0;
  uint64_t kept = 0;  // selected, but used since the copy
};

// The flows of one table of an NF.
class MovableFlows {
 public:
  virtual ~MovableFlows() = default;

  // By which fields its flows are known.
  virtual FlowKey fields() const = 0;
  // Which table it is: another one where flows stand at other positions.
  virtual uint64_t table() const = 0;
  // Flows that came in and were left out, or that had to make room for them, since the NF began.
  virtual uint64_t import_losses() const = 0;
  // From position `first` on, of the flows used at `since_ns` or later.
  virtual std::unique_ptr<PortionCopy> copy(FlowSelector selector, uint32_t first, uint64_t since_ns) const = 0;
  // Of the flows used at `since_ns` or later. Precondition: the portion is of this table.
  virtual std::unique_ptr<FlowRelease> release(FlowSelector selector, const FlowPortion& portion,
                                               uint64_t since_ns) = 0;
};

// By how much a worker's clock may lie behind another thread's: a packet of the next round is never stamped earlier.
inline constexpr uint64_t kClockSlackNs = 1'000'000;

// What does not depend on the types of an NF's functions: `to_packet(key)`, a packet of the flow as far as selectors
// read it; `to_row(flow, now_ns)`; and `on_release(entry)`, before its removal.
template <class Store, size_t N>
struct FlowTraits {
  FlowKey fields;
  const RowLayout<N>* layout;  // lives for ever
  const char* name;            // of the table in exported state
};

template <class Store, size_t N, class ToPacket, class ToRow, class OnRelease>
class MovableStore final : public MovableFlows {
  using Flow = typename Store::Flow;
  using Entry = typename Store::Entry;

 public:
  MovableStore(Store& store, FlowTraits<Store, N> traits, const uint64_t* other_losses, ToPacket to_packet,
               ToRow to_row, OnRelease on_release)
      : store_(store),
        traits_(traits),
        other_losses_(other_losses),
        to_packet_(std::move(to_packet)),
        to_row_(std::move(to_row)),
        on_release_(std::move(on_release)) {}

  FlowKey fields() const override { return traits_.fields; }
  uint64_t table() const override { return store_.table().id(); }
  uint64_t import_losses() const override {
    return store_.figures().lost_by_import + (other_losses_ == nullptr ? 0 : *other_losses_);
  }

  std::unique_ptr<PortionCopy> copy(FlowSelector selector, uint32_t first, uint64_t since_ns) const override {
    return std::make_unique<Copy>(*this, std::move(selector), first, since_ns);
  }
  std::unique_ptr<FlowRelease> release(FlowSelector selector, const FlowPortion& portion, uint64_t since_ns) override {
    return std::make_unique<Release>(*this, std::move(selector), portion, since_ns);
  }

 private:
  // Rows may turn out to be of IPv6.
  static size_t most_rows(const RowLayout<N>& layout) { return max_rows(layout, AddressWidth::kIpv6); }

  class Copy final : public PortionCopy {
   public:
    Copy(const MovableStore& of, FlowSelector selector, uint32_t first, uint64_t since_ns)
        : store_(of.store_),
          traits_(of.traits_),
          to_packet_(of.to_packet_),
          to_row_(of.to_row_),
          selector_(std::move(selector)),
          since_ns_(since_ns),
          portion_{of.table(), first, first, 0} {
      flows_.reserve(std::min<size_t>(store_.table().capacity(), most_rows(*traits_.layout)));
    }

    bool copy(size_t rows) noexcept override {
      if (portion_.as_of_ns == 0) portion_.as_of_ns = monotonic_ns() - kClockSlackNs;
      const size_t room = flows_.capacity() - flows_.size();
      if (room == 0) return false;
      const auto& table = store_.table();
      const auto next =
          table.visit_positions(portion_.end, static_cast<uint32_t>(std::min(rows, room)), [&](const Entry& entry) {
            if (entry.last_seen_ns < since_ns_) return;
            const auto key = table.key_of(entry);
            if (selector_.selects(to_packet_(key))) flows_.push_back({key, entry.value, entry.last_seen_ns});
          });
      portion_.end = next.value_or(table.positions());
      is_last_ = !next;
      return next.has_value();
    }

    FlowPortion portion() const override { return portion_; }
    bool is_last() const override { return is_last_; }
    size_t rows() const override { return flows_.size(); }

    nlohmann::json finish(RowForm form) override {
      const uint64_t now_ns = monotonic_ns();
      std::vector<std::array<uint64_t, N>> rows;
      rows.reserve(flows_.size());
      for (const Flow& flow : flows_) rows.push_back(to_row_(flow, now_ns));
      return {{traits_.name, write_rows(*traits_.layout, rows, form)}};
    }

   private:
    const Store& store_;
    FlowTraits<Store, N> traits_;
    ToPacket to_packet_;
    ToRow to_row_;
    FlowSelector selector_;
    uint64_t since_ns_;
    FlowPortion portion_;
    bool is_last_ = false;
    std::vector<Flow> flows_;
  };

  class Release final : public FlowRelease {
   public:
    Release(MovableStore& of, FlowSelector selector, const FlowPortion& portion, uint64_t since_ns)
        : store_(of.store_),
          to_packet_(of.to_packet_),
          on_release_(of.on_release_),
          selector_(std::move(selector)),
          portion_(portion),
          since_ns_(since_ns) {}

    bool release(size_t rows) noexcept override {
      auto& table = store_.table();
      const auto count = static_cast<uint32_t>(std::min<size_t>(rows, portion_.end - portion_.first));
      const auto next = table.visit_positions(portion_.first, count, [&](const Entry& at) {
        if (at.last_seen_ns < since_ns_ || !selector_.selects(to_packet_(table.key_of(at)))) return;
        if (at.last_seen_ns >= portion_.as_of_ns) {
          ++kept;
          return;
        }
        Entry& entry = table.at(table.id_of(at));
        on_release_(entry);
        table.erase(entry);
        ++released;
      });
      portion_.first += count;
      return next && portion_.first < portion_.end;
    }

   private:
    Store& store_;
    ToPacket to_packet_;
    OnRelease on_release_;
    FlowSelector selector_;
    FlowPortion portion_;
    uint64_t since_ns_;
  };

  Store& store_;
  FlowTraits<Store, N> traits_;
  const uint64_t* other_losses_;
  ToPacket to_packet_;
  ToRow to_row_;
  OnRelease on_release_;
};

using MovableTables = std::vector<std::unique_ptr<MovableFlows>>;

// `other_losses`: counts flows that the NF refused itself; null: it refuses none.
template <class Store, size_t N, class ToPacket, class ToRow, class OnRelease>
std::unique_ptr<MovableFlows> movable(Store& store, FlowKey fields, const RowLayout<N>& layout, const char* name,
                                      const uint64_t* other_losses, ToPacket to_packet, ToRow to_row,
                                      OnRelease on_release) {
  return std::make_unique<MovableStore<Store, N, ToPacket, ToRow, OnRelease>>(
      store, FlowTraits<Store, N>{fields, &layout, name}, other_losses, std::move(to_packet), std::move(to_row),
      std::move(on_release));
}

// Of flows known by their 5-tuple.
template <class Store, size_t N, class ToRow>
MovableTables movable_flows_of(Store& store, const RowLayout<N>& layout, ToRow to_row) {
  MovableTables tables;
  tables.push_back(movable(
      store, kFiveTuple, layout, "flows", nullptr, [](const FlowTuple& flow) { return packet_of(flow); },
      std::move(to_row), [](const typename Store::Entry&) {}));
  return tables;
}

}  // namespace orrery
