// SPDX-License-Identifier: Apache-2.0
// What only configurations of NFs have: addresses, ports, protocols, choices.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nfs/ip_prefix.h"
#include "nfs/nf_core.h"
#include "support/json_fields.h"

namespace orrery {

struct PortRange {
  uint16_t lo;
  uint16_t hi;

  bool operator==(const PortRange&) const = default;
};

// One JSON object of an NF's configuration or state; refuses with a ConfigError.
class ConfigReader : public JsonFields {
 public:
  ConfigReader(const nlohmann::json& value, std::string pointer);

  // A number as so many steps of `step`, a power of two.
  uint64_t steps(const std::string& name, double step, uint64_t lo, uint64_t hi, uint64_t absent);
  std::string choice(const std::string& name, std::initializer_list<std::string_view> choices);
  std::string choice_or(const std::string& name, std::initializer_list<std::string_view> choices,
                        std::string_view absent);
  // Of either version; of IPv4 IPv4-mapped.
  Ipv6Address ip_address(const std::string& name);
  static Ipv6Address ip_address(const nlohmann::json& value, const std::string& pointer);  // an array's element
  std::optional<IpPrefix> prefix(const std::string& name);
  // Two of them, of the same IP version.
  std::pair<std::optional<IpPrefix>, std::optional<IpPrefix>> address_prefixes(const std::string& src,
                                                                               const std::string& dst);
  std::optional<uint8_t> protocol(const std::string& name);
  std::optional<PortRange> ports(const std::string& name);
  // Of an array's element.
  static PortRange port_range(const nlohmann::json& value, const std::string& pointer);
};

}  // namespace orrery
