// SPDX-License-Identifier: Apache-2.0
// What only configurations of NFs have: addresses, ports, protocols, choices.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "nfs/nf_core.h"
#include "support/json_fields.h"

namespace orrery {

struct Ipv4Prefix {
  uint32_t address;  // host byte order; bits behind the prefix are zero
  uint8_t length;

  bool operator==(const Ipv4Prefix&) const = default;
  uint32_t last() const { return address | static_cast<uint32_t>(uint64_t{UINT32_MAX} >> length); }
};

struct PortRange {
  uint16_t lo;
  uint16_t hi;

  bool operator==(const PortRange&) const = default;
};

// "10.0.0.0/8" or "10.1.2.3"; nothing else. Bits behind the prefix are cleared.
std::optional<Ipv4Prefix> parse_prefix(std::string_view text);
std::optional<uint32_t> parse_address(std::string_view text);
std::string address_text(uint32_t address);

// One JSON object of an NF's configuration or state; refuses with a ConfigError.
class ConfigReader : public JsonFields {
 public:
  ConfigReader(const nlohmann::json& value, std::string pointer);

  // A number as so many steps of `step`, a power of two.
  uint64_t steps(const std::string& name, double step, uint64_t lo, uint64_t hi, uint64_t absent);
  std::string choice(const std::string& name, std::initializer_list<std::string_view> choices);
  std::string choice_or(const std::string& name, std::initializer_list<std::string_view> choices,
                        std::string_view absent);
  std::optional<Ipv4Prefix> prefix(const std::string& name);
  std::optional<uint8_t> protocol(const std::string& name);
  std::optional<PortRange> ports(const std::string& name);
};

}  // namespace orrery
