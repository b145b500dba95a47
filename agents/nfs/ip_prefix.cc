// SPDX-License-Identifier: Apache-2.0
#include "nfs/ip_prefix.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "support/checksum.h"

namespace orrery {

std::optional<uint32_t> parse_decimal(std::string_view text, uint32_t max) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return value;
}

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

Ipv6Address Ipv6Prefix::last() const {
  return {address.high | ~mask().high, address.low | ~mask().low};
}

std::optional<Ipv6Address> parse_ipv6_address(std::string_view text) {
  std::array<uint8_t, 16> bytes;
  if (text.find('\0') != std::string_view::npos || inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) != 1)
    return std::nullopt;
  const Ipv6Address address{load_be64(bytes.data()), load_be64(bytes.data() + 8)};
  return is_ipv4_mapped(address) ? std::nullopt : std::optional(address);
}

std::optional<Ipv6Prefix> parse_ipv6_prefix(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = parse_ipv6_address(text.substr(0, slash));
  const auto length = slash == std::string_view::npos ? 128u : parse_decimal(text.substr(slash + 1), 128);
  if (!address || !length) return std::nullopt;
  Ipv6Prefix prefix{*address, static_cast<uint8_t>(*length)};
  const Ipv6Address mask = prefix.mask();
  prefix.address = {address->high & mask.high, address->low & mask.low};
  return prefix;
}

std::optional<IpPrefix> parse_ip_prefix(std::string_view text) {
  if (const auto prefix = parse_prefix(text)) return *prefix;
  if (const auto prefix = parse_ipv6_prefix(text)) return *prefix;
  return std::nullopt;
}

std::string address_text(const Ipv6Address& address) {
  if (is_ipv4_mapped(address)) return address_text(static_cast<uint32_t>(address.low));
  std::array<uint8_t, 16> bytes;
  store_be64(bytes.data(), address.high);
  store_be64(bytes.data() + 8, address.low);
  std::array<char, INET6_ADDRSTRLEN> text;
  return inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
}

}  // namespace orrery
