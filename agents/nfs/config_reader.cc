// SPDX-License-Identifier: Apache-2.0
#include "nfs/config_reader.h"

#include <algorithm>
#include <charconv>

namespace orrery {
namespace {

using nlohmann::json;

// Decimal digits only, without sign or leading zero.
std::optional<uint32_t> parse_decimal(std::string_view text, uint32_t max) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return value;
}

}  // namespace

std::optional<uint32_t> parse_address(std::string_view text) {
  uint32_t address = 0;
  for (int i = 0; i < 4; ++i) {
    const size_t dot = i < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return std::nullopt;
    const auto octet = parse_decimal(text.substr(0, dot), 255);
    if (!octet) return std::nullopt;
    address = address << 8 | *octet;
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return address;
}

std::optional<Ipv4Prefix> parse_prefix(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  const auto length = slash == std::string_view::npos ? 32u : parse_decimal(text.substr(slash + 1), 32);
  if (!address || !length) return std::nullopt;
  const uint32_t mask = *length == 0 ? 0 : UINT32_MAX << (32 - *length);
  return Ipv4Prefix{*address & mask, static_cast<uint8_t>(*length)};
}

std::string address_text(uint32_t a) {
  return std::to_string(a >> 24) + '.' + std::to_string(a >> 16 & 255) + '.' + std::to_string(a >> 8 & 255) + '.' +
         std::to_string(a & 255);
}

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

std::optional<Ipv4Prefix> ConfigReader::prefix(const std::string& name) {
  const json* value = optional(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string())
    if (const auto p = parse_prefix(value->get_ref<const std::string&>())) return p;
  fail(name, "must be an IPv4 address or prefix such as 10.0.0.0/8");
}

std::optional<uint8_t> ConfigReader::protocol(const std::string& name) {
  const json* value = optional(name);
  if (value == nullptr) return std::nullopt;
  if (*value == "tcp") return 6;
  if (*value == "udp") return 17;
  if (*value == "icmp") return 1;
  if (const auto n = as_integer(*value); n && *n <= 255) return static_cast<uint8_t>(*n);
  fail(name, "must be tcp, udp, icmp or a number from 0 to 255");
}

std::optional<PortRange> ConfigReader::ports(const std::string& name) {
  const json* value = optional(name);
  if (value == nullptr) return std::nullopt;
  if (const auto n = as_integer(*value); n && *n <= UINT16_MAX)
    return PortRange{static_cast<uint16_t>(*n), static_cast<uint16_t>(*n)};
  if (value->is_string()) {
    const std::string_view s = value->get_ref<const std::string&>();
    const size_t dash = s.find('-');
    const auto lo = parse_decimal(s.substr(0, dash), UINT16_MAX);
    const auto hi = dash == std::string_view::npos ? lo : parse_decimal(s.substr(dash + 1), UINT16_MAX);
    if (lo && hi && *lo <= *hi) return PortRange{static_cast<uint16_t>(*lo), static_cast<uint16_t>(*hi)};
  }
  fail(name, "must be a port or a range such as 8000-8080");
}

}  // namespace orrery
