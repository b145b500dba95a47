// SPDX-License-Identifier: Apache-2.0
// Flows that move from one table to another, in their order of age.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "support/flow_table.h"

namespace orrery {

// A flow outside of a table.
template <class Value>
struct MovingFlow {
  FlowTuple key;
  Value value;
  uint64_t last_seen_ns;
};

// From the first five numbers of a row: src, dst, src port, dst port, proto.
template <class Row>
FlowTuple flow_of_row(const Row& r) {
  return {static_cast<uint32_t>(r[0]), static_cast<uint32_t>(r[1]), static_cast<uint16_t>(r[2]),
          static_cast<uint16_t>(r[3]), static_cast<uint32_t>(r[4])};
}

// Fills the empty table `to` with as many of the youngest flows as it holds. `keep` is empty and has room for as many,
// so that nothing is allocated.
template <class Table>
void copy_youngest(const Table& from, Table& to, std::vector<const typename Table::Entry*>& keep) noexcept {
  from.for_each([&](const typename Table::Entry& e) {
    keep.push_back(&e);
    return keep.size() < to.capacity();
  });
  std::ranges::reverse(keep);
  for (const auto* e : keep) to.insert(e->key, to.hash(e->key), e->last_seen_ns).value = e->value;
}

// Adds flows to those of a table, which stay as they are where both know one. Where there is no room for all, those
// idle longest are left out. Returns how many were.
template <class Value>
size_t merge_flows(FlowTable<FlowTuple, Value>& table, std::vector<MovingFlow<Value>> flows) {
  using Table = FlowTable<FlowTuple, Value>;
  std::erase_if(flows, [&](const auto& flow) { return table.find(flow.key, table.hash(flow.key)) != nullptr; });
  table.for_each([&](const typename Table::Entry& e) {
    flows.push_back({e.key, e.value, e.last_seen_ns});
    return true;
  });
  while (typename Table::Entry* entry = table.oldest()) table.erase(*entry);
  std::ranges::reverse(flows);  // of equal age the later row, or what was there, is older
  std::ranges::stable_sort(flows, std::less{}, &MovingFlow<Value>::last_seen_ns);
  size_t left_out = 0;
  for (const MovingFlow<Value>& flow : flows) {
    const uint32_t hash = table.hash(flow.key);
    if (typename Table::Entry* twin = table.find(flow.key, hash)) {
      table.erase(*twin);
    } else if (table.full()) {
      table.erase(*table.oldest());
      ++left_out;
    }
    table.insert(flow.key, hash, flow.last_seen_ns).value = flow.value;
  }
  return left_out;
}

}  // namespace orrery
