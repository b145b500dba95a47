// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/balancer_config.h"

#include <algorithm>

namespace orrery::load_balancer {
namespace {

using nlohmann::json;

constexpr size_t kMaxPortRanges = 16;
constexpr size_t kMaxExternalAddresses = 16;
constexpr uint64_t kNsPerS = 1'000'000'000;

uint8_t version_of(const Ipv6Address& address) {
  return is_ipv4_mapped(address) ? 4 : 6;
}

void require_version(const Config& config, const Ipv6Address& address, const std::string& pointer) {
  if (version_of(address) != config.ip_version)
    throw ConfigError(pointer, "must be an address of the same IP version as the virtual address");
}

AdminState state_of(ConfigReader& reader) {
  const std::string state = reader.choice_or("state", {"up", "drain", "down"}, "up");
  return state == "up" ? AdminState::kUp : state == "drain" ? AdminState::kDrain : AdminState::kDown;
}

void read_backends(const json& items, const ConfigReader& reader, Config& config) {
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string pointer = reader.pointer_to("backends", i);
    ConfigReader item(items[i], pointer);
    Backend backend{};
    backend.at.address = item.ip_address("address");
    require_version(config, backend.at.address, item.pointer_to("address"));
    backend.at.port = static_cast<uint16_t>(item.integer_or("port", 0, UINT16_MAX, 0));
    backend.weight = static_cast<uint32_t>(item.integer_or("weight", 1, 256, 1));
    backend.state = state_of(item);
    item.done();
    if (config.mode == Mode::kDirect && backend.at.port != 0)
      throw ConfigError(pointer + "/port", "has no effect in direct mode, which rewrites nothing");
    if (std::ranges::find(config.backends, backend.at, &Backend::at) != config.backends.end())
      throw ConfigError(pointer, "appears twice");
    config.backends.push_back(backend);
  }
}

}  // namespace

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config{};
  config.mode = reader.choice_or("mode", {"nat", "direct"}, "nat") == "nat" ? Mode::kNat : Mode::kDirect;
  config.virtual_address = reader.ip_address("virtual_address");
  config.ip_version = version_of(config.virtual_address);
  const json& ports = reader.array_or_empty("ports", kMaxPortRanges);
  for (size_t i = 0; i < ports.size(); ++i)
    config.ports.push_back(ConfigReader::port_range(ports[i], reader.pointer_to("ports", i)));
  const size_t most = config.mode == Mode::kDirect ? kMaxTagged : kMaxBackends;
  read_backends(reader.array("backends", 1, most), reader, config);
  const json& addresses = reader.array("external_addresses", 1, kMaxExternalAddresses);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string pointer = reader.pointer_to("external_addresses", i);
    const Ipv6Address address = ConfigReader::ip_address(addresses[i], pointer);
    if (config.mode == Mode::kNat) require_version(config, address, pointer);
    if (address == config.virtual_address) throw ConfigError(pointer, "is the virtual address");
    if (std::ranges::find(config.external_addresses, address) != config.external_addresses.end())
      throw ConfigError(pointer, "appears twice");
    config.external_addresses.push_back(address);
  }
  config.port_lo = static_cast<uint16_t>(reader.integer_or("port_lo", 1, UINT16_MAX, 1024));
  config.port_hi = static_cast<uint16_t>(reader.integer_or("port_hi", 1, UINT16_MAX, UINT16_MAX));
  if (config.port_hi < config.port_lo) throw ConfigError(reader.pointer_to("port_hi"), "must not be below port_lo");
  config.health.max_failures = static_cast<uint32_t>(reader.integer_or("max_failures", 0, 1000, 3));
  if (config.mode == Mode::kDirect) config.health.max_failures = 0;  // no reply comes by
  config.health.window_ns = static_cast<uint64_t>(reader.integer_or("failure_window_s", 1, 3600, 30)) * kNsPerS;
  config.health.retry_ns = static_cast<uint64_t>(reader.integer_or("retry_after_s", 1, 3600, 10)) * kNsPerS;
  config.health.min_successes = static_cast<uint32_t>(reader.integer_or("min_successes", 1, 1000, 2));
  config.flows.idle_ns = static_cast<uint64_t>(reader.integer_or("idle_timeout_s", 1, 86400, 300)) * kNsPerS;
  config.flows.transitory_idle_ns = std::min(
      static_cast<uint64_t>(reader.integer_or("transitory_timeout_s", 1, 86400, 30)) * kNsPerS, config.flows.idle_ns);
  config.flows.granularity_ns = config.flows.transitory_idle_ns / 16;
  config.flows.max_flows = static_cast<uint32_t>(reader.integer_or("max_flows", 1, kMaxFlows, 65536));
  reader.done();
  return config;
}

uint64_t identity_of(const Backend& backend) {
  return mix(mix(mix(backend.at.address.high + 0x9e3779b97f4a7c15u) ^ backend.at.address.low) + backend.at.port);
}

}  // namespace orrery::load_balancer
