// SPDX-License-Identifier: Apache-2.0
#include "nfs/nat/nat_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nfs/config_reader.h"

namespace orrery::nat {

Config read_config(const nlohmann::json& value) {
  ConfigReader reader(value, "");
  Config config;
  const auto& addresses = reader.array_or_empty("external_addresses", kMaxAddresses);
  if (addresses.empty()) throw ConfigError(reader.pointer_to("external_addresses"), "must name at least one address");
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto address =
        addresses[i].is_string() ? parse_address(addresses[i].get_ref<const std::string&>()) : std::nullopt;
    if (!address) throw ConfigError(reader.pointer_to("external_addresses", i), "must be an IPv4 address");
    if (std::ranges::find(config.addresses, *address) != config.addresses.end())
      throw ConfigError(reader.pointer_to("external_addresses", i), "appears twice");
    config.addresses.push_back(*address);
  }
  config.port_restricted = reader.choice_or("mode", {"dynamic", "port-restricted"}, "dynamic") == "port-restricted";
  config.port_lo = static_cast<uint16_t>(reader.integer_or("port_lo", 1, UINT16_MAX, 1024));
  config.port_hi = static_cast<uint16_t>(reader.integer_or("port_hi", 1, UINT16_MAX, UINT16_MAX));
  if (config.port_hi < config.port_lo) throw ConfigError(reader.pointer_to("port_hi"), "must not be below port_lo");
  config.flows.idle_ns = reader.integer_or("idle_timeout_s", 1, 86400, 120) * 1'000'000'000u;
  config.flows.max_flows = static_cast<uint32_t>(reader.integer_or("max_flows", 1, kMaxFlows, 65536));
  config.flows.granularity_ns = config.flows.idle_ns / 16;
  config.peers = config.flows;
  const auto max_peers = static_cast<uint32_t>(reader.integer_or("max_peers", 1, kMaxFlows, 131072));
  config.peers.max_flows = config.port_restricted ? max_peers : 1;
  reader.done();
  return config;
}

}  // namespace orrery::nat
