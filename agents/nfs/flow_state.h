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
#include "support/flow_tuple.h"

namespace orrery {

// Of rows of src, dst, src port, dst port, proto, and the numbers that an NF keeps of a flow, whose maxima these are.
template <class... Maxima>
constexpr RowLayout<7 + sizeof...(Maxima)> flow_layout(Maxima... maxima) {
  return {kAddressWord, kAddressWord, kAddressWord, kAddressWord,
          UINT16_MAX,   UINT16_MAX,   UINT8_MAX,    static_cast<uint64_t>(maxima)...};
}
inline constexpr size_t kFlowNumbers = 7;  // of a row, in front of those that an NF keeps

// Throws ConfigError that points into the row.
template <class Row>
FlowTuple flow_of_row(const Row& r) {
  FlowTuple flow{{.src_port = static_cast<uint16_t>(r[4]),
                  .dst_port = static_cast<uint16_t>(r[5]),
                  .proto = static_cast<uint8_t>(r[6])},
                 {}};
  const Ipv6Address src{r[0], r[1]}, dst{r[2], r[3]};
  if (is_ipv4_mapped(src) != is_ipv4_mapped(dst))
    throw ConfigError("/1", "must be an address of the same IP version as the first");
  flow.set_ends(src, dst);
  return flow;
}

// What the NF keeps of the flow.
template <size_t N>
std::array<uint64_t, N - kFlowNumbers> numbers_behind_flow(const std::array<uint64_t, N>& row) {
  std::array<uint64_t, N - kFlowNumbers> out;
  std::copy_n(row.begin() + kFlowNumbers, out.size(), out.begin());
  return out;
}

template <class... Numbers>
std::array<uint64_t, kFlowNumbers + sizeof...(Numbers)> row_of(const FlowTuple& key, Numbers... numbers) {
  const Ipv6Address src = key.source(), dst = key.destination();
  return {src.high, src.low, dst.high, dst.low, key.src_port, key.dst_port, key.proto, uint64_t{numbers}...};
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
        rows.resize(std::min(count, max_rows(layout, address_width(layout, numbers_of(rows)))));
        return nlohmann::json{{"flows", write_rows(layout, rows, form)}};
      });
}

// The oldest first, of equal age the later.
template <class Flow>
void sort_for_import(std::vector<Flow>& flows) {
  std::ranges::reverse(flows);
  std::ranges::stable_sort(flows, std::less{}, &Flow::last_seen_ns);
}

// Its counterpart. `flow(row, now_ns)` makes a flow, or throws ConfigError that points into the row. To merge with a
// flow that is known here is left to merge(entry, flow); of the others and those here the youngest stay.
template <size_t N, class Store, class ToFlow, class Merge>
std::unique_ptr<StateImport> import_flows(Store& store, const nlohmann::json& state, const RowLayout<N>& layout,
                                          KnownFlows known, ToFlow flow, Merge merge) {
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
                     [&store, known, merge = std::move(merge), place = typename Store::Place{}](const Flow& f) mutable {
                       const uint32_t hash = store.table().hash(f.key);
                       auto* entry = store.find(f.key, hash);
                       if (entry != nullptr && known == KnownFlows::kMerge) {
                         merge(*entry, f);
                         return;
                       }
                       if (entry != nullptr && entry->last_seen_ns >= f.last_seen_ns) return;
                       if (entry != nullptr) store.table().erase(*entry);
                       store.import(f, hash, place);
                     });
}

// For an NF that keeps nothing by flow: only `{}`.
inline std::unique_ptr<StateImport> import_no_flows(const nlohmann::json& state) {
  ConfigReader(state, "").done();
  return import_at_once([] {});
}

// What identifies a flow to an operator.
inline nlohmann::json flow_json(const FlowTuple& flow) {
  return {{"src", address_text(flow.source())},
          {"dst", address_text(flow.destination())},
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
