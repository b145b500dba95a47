// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/connection_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "nfs/config_reader.h"
#include "nfs/state_import.h"
#include "support/clock.h"

namespace orrery::load_balancer {
namespace {

using nlohmann::json;

// A back end is shown as failed when nothing of it that was asked for is well.
const char* state_shown(const Backend& backend, const JudgedServices& services) {
  switch (backend.state) {
    case AdminState::kDrain:
      return "drain";
    case AdminState::kDown:
      return "down";
    default:
      return services.failed != 0 && services.failed == services.judged ? "failed" : "up";
  }
}

std::string text_of(const Service& service) {
  const std::string space = kPortSpaceNames[service.space];
  return PortSpace(service.space) == PortSpace::kIcmp ? space : space + '/' + std::to_string(service.port);
}

json backend_json(const Backend& backend, const BackendFigures& figures, const JudgedServices& services) {
  json failed = json::array();
  for (size_t i = 0; i < std::min<size_t>(services.failed, JudgedServices::kNamed); ++i)
    failed.push_back(text_of(services.named[i]));
  return {{"address", address_text(backend.at.address)},
          {"port", backend.at.port},
          {"weight", backend.weight},
          {"state", state_shown(backend, services)},
          {"failed_port_count", services.failed},
          {"failed_ports", std::move(failed)},
          {"open", figures.open},
          {"connections", figures.connections},
          {"requests", figures.requests},
          {"replies", figures.replies},
          {"failures", figures.failures}};
}

}  // namespace

std::array<uint64_t, kRow.size()> row_of_connection(const Connections::Flow& flow, const Endpoint& backend,
                                                    const Endpoint& external, uint64_t now_ns) {
  return row_of(flow.key, backend.address.high, backend.address.low, backend.port, external.address.high,
                external.address.low, external.port, static_cast<uint64_t>(flow.value.state),
                age_ms(now_ns, flow.last_seen_ns));
}

std::vector<Arrival> read_arrivals(const json& state) {
  ConfigReader reader(state, "");
  const auto rows = read_rows(reader, "flows", kRow);
  reader.done();
  const uint64_t now_ns = monotonic_ns();
  std::vector<Arrival> arrivals;
  arrivals.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    const auto n = numbers_behind_flow(row);
    Arrival arrival{.key = {}, .value = {}, .last_seen_ns = time_at_age(now_ns, n[7]), .backend = {}, .external = {}};
    try {
      arrival.key = flow_of_row(row);
    } catch (const ConfigError& error) {
      throw ConfigError(reader.pointer_to("flows", i) + error.pointer, error.what());
    }
    arrival.backend = {{n[0], n[1]}, static_cast<uint16_t>(n[2])};
    arrival.external = {{n[3], n[4]}, static_cast<uint16_t>(n[5])};
    arrival.value.state = static_cast<ConnectionState>(n[6]);
    arrivals.push_back(arrival);
  }
  sort_for_import(arrivals);
  return arrivals;
}

Figures figures_of(const FlowFigures& flows, const Counters& counters, const BackendPool& pool) {
  Figures out{.flows = flows, .counters = counters, .backends = {}, .services = {}, .services_evicted = 0};
  std::ranges::copy(pool.figures(), out.backends.begin());
  pool.services().for_each([&](const Service& service, const Health& health) {
    JudgedServices& of = out.services[service.backend];
    ++of.judged;
    if (!health.failed()) return;
    if (of.failed < JudgedServices::kNamed) of.named[of.failed] = service;
    ++of.failed;
  });
  out.services_evicted = pool.services().evicted();
  return out;
}

json view_of(const BackendPool& pool, const std::vector<Connections::Flow>& flows, const Figures& figures,
             size_t limit) {
  const auto& [of, counters, by_backend, services, services_evicted] = figures;
  json backends = json::array();
  for (size_t i = 0; i < std::min(limit, pool.size()); ++i)
    backends.push_back(backend_json(pool.at(i), by_backend[i], services[i]));
  json rows = json::array();
  for (const auto& f : first_of(flows, limit)) {
    json& row = rows.emplace_back(flow_json(f.key));
    row["backend"] = address_text(pool.of(f.value).at.address);
    row["state"] = kConnectionStateNames[static_cast<size_t>(f.value.state)];
    row["last_seen_ms"] = wall_ms_at(f.last_seen_ns);
  }
  return {{"flow_count", of.size},
          {"max_flows", of.capacity},
          {"flows_created", of.created},
          {"flows_expired", of.expired},
          {"flows_evicted", of.evicted},
          {"flows_lost_by_reconfiguration", of.lost_by_resize},
          {"flows_moved", counters.moved},
          {"imports_refused", counters.imports_refused},
          {"not_to_virtual_address", counters.not_virtual},
          {"non_ip", counters.non_ip},
          {"judged_ports_evicted", services_evicted},
          {"backends", std::move(backends)},
          {"flows", std::move(rows)}};
}

}  // namespace orrery::load_balancer
