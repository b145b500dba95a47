// SPDX-License-Identifier: Apache-2.0
#include "nfs/config_reader.h"

#include <algorithm>

namespace orrery {

using nlohmann::json;

ConfigReader::ConfigReader(const json& value, std::string pointer)
    : JsonFields(value, std::move(pointer),
                 [](std::string at, const std::string& detail) { throw ConfigError(std::move(at), detail); }) {}

uint64_t ConfigReader::steps(const std::string& name, double step, uint64_t lo, uint64_t hi, uint64_t absent) {
  const json* value = optional(name);
  if (value == nullptr) return absent;
  if (value->is_number()) {
    const auto n = as_integer(value->get<double>() / step);
    if (n && *n >= lo && *n <= hi) return *n;
  }
  const json from = static_cast<double>(lo) * step, to = static_cast<double>(hi) * step;
  fail(name, "must be a multiple of " + json(step).dump() + " from " + from.dump() + " to " + to.dump());
}

std::string ConfigReader::choice(const std::string& name, std::initializer_list<std::string_view> choices) {
  const json* value = optional(name);
  if (value != nullptr && value->is_string() &&
      std::ranges::find(choices, value->get_ref<const std::string&>()) != choices.end())
    return value->get<std::string>();
  std::string list;
  for (std::string_view c : choices) list += (list.empty() ? "" : ", ") + std::string(c);
  fail(name, "must be one of " + list);
}

std::string ConfigReader::choice_or(const std::string& name, std::initializer_list<std::string_view> choices,
                                    std::string_view absent) {
  return optional(name) == nullptr ? std::string(absent) : choice(name, choices);
}

Ipv6Address ConfigReader::ip_address(const std::string& name) {
  return ip_address(required(name), pointer_to(name));
}

Ipv6Address ConfigReader::ip_address(const json& value, const std::string& pointer) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (const auto address = parse_address(text)) return ipv4_mapped(*address);
    if (const auto address = parse_ipv6_address(text)) return *address;
  }
  throw ConfigError(pointer, "must be an IPv4 or IPv6 address");
}

std::optional<IpPrefix> ConfigReader::prefix(const std::string& name) {
  const json* value = optional(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string())
    if (const auto p = parse_ip_prefix(value->get_ref<const std::string&>())) return p;
  fail(name, std::string(kIpPrefixForm));
}

std::pair<std::optional<IpPrefix>, std::optional<IpPrefix>> ConfigReader::address_prefixes(const std::string& src,
                                                                                           const std::string& dst) {
  const auto first = prefix(src), second = prefix(dst);
  if (first && second && first->index() != second->index()) fail(dst, "must be of the same IP version as " + src);
  return {first, second};
}

std::optional<uint8_t> ConfigReader::protocol(const std::string& name) {
  const json* value = optional(name);
  if (value == nullptr) return std::nullopt;
  if (*value == "tcp") return 6;
  if (*value == "udp") return 17;
  if (*value == "icmp") return 1;
  if (*value == "icmpv6") return 58;
  if (const auto n = as_integer(*value); n && *n <= 255) return static_cast<uint8_t>(*n);
  fail(name, "must be tcp, udp, icmp, icmpv6 or a number from 0 to 255");
}

std::optional<PortRange> ConfigReader::ports(const std::string& name) {
  const json* value = optional(name);
  if (value == nullptr) return std::nullopt;
  return port_range(*value, pointer_to(name));
}

PortRange ConfigReader::port_range(const json& value, const std::string& pointer) {
  if (const auto n = as_integer(value); n && *n <= UINT16_MAX)
    return PortRange{static_cast<uint16_t>(*n), static_cast<uint16_t>(*n)};
  if (value.is_string()) {
    const std::string_view s = value.get_ref<const std::string&>();
    const size_t dash = s.find('-');
    const auto lo = parse_decimal(s.substr(0, dash), UINT16_MAX);
    const auto hi = dash == std::string_view::npos ? lo : parse_decimal(s.substr(dash + 1), UINT16_MAX);
    if (lo && hi && *lo <= *hi) return PortRange{static_cast<uint16_t>(*lo), static_cast<uint16_t>(*hi)};
  }
  throw ConfigError(pointer, "must be a port or a range such as 8000-8080");
}

}  // namespace orrery
