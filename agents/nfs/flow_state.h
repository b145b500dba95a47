// SPDX-License-Identifier: Apache-2.0
// Flows of a FlowStore on their way between two instances, and as an operator sees them.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "nfs/config_reader.h"
#include "nfs/flow_rows.h"
#include "nfs/flow_store.h"
#include "nfs/state_copy.h"
#include "nfs/state_import.h"
#include "support/clock.h"

namespace orrery {

// From the first five numbers of a row: src, dst, src port, dst port, proto.
template <class Row>
FlowTuple flow_of_row(const Row& r) {
  return {static_cast<uint32_t>(r[0]), static_cast<uint32_t>(r[1]), static_cast<uint16_t>(r[2]),
          static_cast<uint16_t>(r[3]), static_cast<uint32_t>(r[4])};
}

template <class... Numbers>
std::array<uint64_t, 5 + sizeof...(Numbers)> row_of(const FlowTuple& key, Numbers... numbers) {
  return {key.src, key.dst, key.src_port, key.dst_port, key.proto, uint64_t{numbers}...};
}

// `{"flows": rows}`, youngest first, as many as an export may have. `row(flow, now_ns)` makes a row. The layout lives
// for ever.
template <size_t N, class Store, class ToRow>
std::unique_ptr<StateCopy> export_flows(const Store& store, const RowLayout<N>& layout, ToRow row) {
  return copy_flow_store(
      store, [] { return 0; },
      [&layout, row = std::move(row)](const auto& flows, int, RowForm form) {
        const uint64_t now_ns = monotonic_ns();
        std::vector<std::array<uint64_t, N>> rows;
        const size_t count = std::min(flows.size(), max_rows(layout));
        rows.reserve(count);
        for (size_t i = 0; i < count; ++i) rows.push_back(row(flows[i], now_ns));
        return nlohmann::json{{"flows", write_rows(layout, rows, form)}};
      });
}

// The oldest first, of equal age the later.
template <class Flow>
void sort_for_import(std::vector<Flow>& flows) {
  std::ranges::reverse(flows);
  std::ranges::stable_sort(flows, std::less{}, &Flow::last_seen_ns);
}

// Its counterpart. `flow(row, now_ns)` makes a flow, or throws ConfigError that points into the row. A flow that is
// known here is left to known(entry, flow); of the others and those here the youngest stay.
template <size_t N, class Store, class ToFlow, class Known>
std::unique_ptr<StateImport> import_flows(Store& store, const nlohmann::json& state, const RowLayout<N>& layout,
                                          ToFlow flow, Known known) {
  using Flow = typename Store::Flow;
  ConfigReader reader(state, "");
  const auto rows = read_rows(reader, "flows", layout);
  reader.done();
  const uint64_t now_ns = monotonic_ns();
  std::vector<Flow> flows;
  flows.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    try {
      flows.push_back(flow(rows[i], now_ns));
    } catch (const ConfigError& error) {
      throw ConfigError(reader.pointer_to("flows", i) + error.pointer, error.what());
    }
  }
  sort_for_import(flows);
  return import_rows(std::move(flows),
                     [&store, known = std::move(known), place = typename Store::Place{}](const Flow& f) mutable {
                       const uint32_t hash = store.table().hash(f.key);
                       if (auto* entry = store.find(f.key, hash)) {
                         known(*entry, f);
                       } else {
                         store.import(f, hash, place);
                       }
                     });
}

// For an NF that keeps nothing by flow: only `{}`.
inline std::unique_ptr<StateImport> import_no_flows(const nlohmann::json& state) {
  ConfigReader(state, "").done();
  return import_at_once([] {});
}

// What identifies a flow to an operator.
inline nlohmann::json flow_json(const FlowTuple& flow) {
  return {{"src", address_text(flow.src)},
          {"dst", address_text(flow.dst)},
          {"proto", flow.proto},
          {"src_port", flow.src_port},
          {"dst_port", flow.dst_port}};
}

// The first `limit` elements of a list.
template <class List>
auto first_of(List& list, size_t limit) {
  return std::span(list).first(std::min(limit, list.size()));
}

// The `limit` elements with the largest keys, in order; others are moved about.
template <class List, class KeyOf>
auto largest(List& list, size_t limit, KeyOf&& key_of) {
  const auto top = first_of(list, limit);
  std::ranges::partial_sort(list, list.begin() + static_cast<ptrdiff_t>(top.size()), std::greater{}, key_of);
  return top;
}

}  // namespace orrery
