// SPDX-License-Identifier: Apache-2.0
#include "nfs/nat/nat_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nfs/flow_state.h"
#include "nfs/ip_prefix.h"

namespace orrery::nat {

using nlohmann::json;

json view_of(const Config& config, const std::vector<Mappings::Flow>& mappings, const Figures& figures, size_t limit) {
  json addresses = json::array();
  for (size_t i = 0; i < std::min(limit, config.addresses.size()); ++i) {
    json free = json::object();
    for (size_t s = 0; s < kPortSpaces; ++s) free[kPortSpaceNames[s]] = figures.free_ports[i][s];
    addresses.push_back({{"address", address_text(config.addresses[i])}, {"free_ports", std::move(free)}});
  }
  const uint64_t now_ns = monotonic_ns();
  json rows = json::array();
  for (const auto& m : first_of(mappings, limit))
    rows.push_back({{"proto", kPortSpaceNames[m.key.space]},
                    {"internal", address_text(m.key.address)},
                    {"internal_port", m.key.port},
                    {"external", address_text(m.value.external_address)},
                    {"external_port", m.value.external.port},
                    {"packets", m.value.packets},
                    {"idle_ms", age_ms(now_ns, m.last_seen_ns)}});
  const FlowFigures& of = figures.flows;
  const Counters& counters = figures.counters;
  return {{"flows", of.size},
          {"max_flows", of.capacity},
          {"flows_created", of.created},
          {"flows_expired", of.expired},
          {"flows_lost_by_reconfiguration", of.lost_by_resize},
          {"imports_refused", counters.imports_refused},
          {"mode", config.port_restricted ? "port-restricted" : "dynamic"},
          {"peers", figures.peers.size},
          {"max_peers", config.port_restricted ? figures.peers.capacity : 0},
          {"translated_forward", counters.translated_forward},
          {"translated_return", counters.translated_return},
          {"ipv6", counters.ipv6},
          {"non_ip", counters.non_ip},
          {"addresses", std::move(addresses)},
          {"mappings", std::move(rows)}};
}

}  // namespace orrery::nat
