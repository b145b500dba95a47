// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "nfs/config_reader.h"
#include "nfs/flow_store.h"
#include "nfs/load-balancer/health.h"
#include "nfs/load-balancer/maglev.h"
#include "nfs/translation/translate.h"

namespace orrery::load_balancer {

enum class Mode : uint8_t { kNat, kDirect };

// kDrain: no new connections. kDown: none at all.
enum class AdminState : uint8_t { kUp, kDrain, kDown };

// In direct mode, back ends that have a value of the attribute `backend`.
inline constexpr size_t kMaxTagged = 15;

struct Backend {
  Endpoint at;  // port 0: that of the virtual address
  uint32_t weight;
  AdminState state;

  bool operator==(const Backend&) const = default;
};

struct Config {
  Mode mode;
  uint8_t ip_version;            // of all addresses
  Ipv6Address virtual_address;   // IPv4-mapped where they are of IPv4
  std::vector<PortRange> ports;  // empty: all
  std::vector<Backend> backends;
  std::vector<Ipv6Address> external_addresses;
  uint16_t port_lo;
  uint16_t port_hi;
  HealthSettings health;
  FlowLimits flows;

  bool operator==(const Config&) const = default;
  bool serves(uint16_t port) const {
    for (const PortRange& range : ports)
      if (port >= range.lo && port <= range.hi) return true;
    return ports.empty();
  }
};

// Throws ConfigError.
Config read_config(const nlohmann::json& value);

// For its place in the table: the same on every instance.
uint64_t identity_of(const Backend& backend);

}  // namespace orrery::load_balancer
