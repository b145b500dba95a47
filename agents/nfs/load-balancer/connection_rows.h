// SPDX-License-Identifier: Apache-2.0
// Connections as exported state, and what an operator sees of them.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "nfs/flow_state.h"
#include "nfs/load-balancer/backend_pool.h"
#include "nfs/load-balancer/balancer_config.h"
#include "nfs/load-balancer/connections.h"

namespace orrery::load_balancer {

// Youngest first.
inline constexpr auto kRow = flow_layout(kAddressWord, kAddressWord, UINT16_MAX, kAddressWord, kAddressWord, UINT16_MAX,
                                         kConnectionStates - 1, kMaxAgeMs);

// `external`: address and port; of mode `direct` an IPv4-mapped 0.
std::array<uint64_t, kRow.size()> row_of_connection(const Connections::Flow& flow, const Endpoint& backend,
                                                    const Endpoint& external, uint64_t now_ns);

// A connection from another instance.
struct Arrival {
  FlowTuple key;
  Connection value;
  uint64_t last_seen_ns;
  Endpoint backend;
  Endpoint external;
};

// In the order in which they are to come in. Throws ConfigError.
std::vector<Arrival> read_arrivals(const nlohmann::json& state);

struct Counters {
  uint64_t imports_refused = 0;
  uint64_t moved = 0;  // connections to another back end
  uint64_t not_virtual = 0;
  uint64_t non_ip = 0;
};

// How many services of a back end were judged, and which are failed.
struct JudgedServices {
  static constexpr size_t kNamed = 8;

  uint32_t judged = 0;
  uint32_t failed = 0;
  std::array<Service, kNamed> named{};  // of those that are failed
};

struct Figures {
  FlowFigures flows;
  Counters counters;
  std::array<BackendFigures, kMaxBackends> backends;
  std::array<JudgedServices, kMaxBackends> services;
  uint64_t services_evicted;
};

// For the worker's pauses.
Figures figures_of(const FlowFigures& flows, const Counters& counters, const BackendPool& pool);

nlohmann::json view_of(const BackendPool& pool, const std::vector<Connections::Flow>& flows, const Figures& figures,
                       size_t limit);

}  // namespace orrery::load_balancer
