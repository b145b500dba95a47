// SPDX-License-Identifier: Apache-2.0
// Addresses and prefixes of both IP versions as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "support/packet.h"

namespace orrery {

struct Ipv4Prefix {
  uint32_t address;  // host byte order; bits behind the prefix are zero
  uint8_t length;

  bool operator==(const Ipv4Prefix&) const = default;
  uint32_t last() const { return address | static_cast<uint32_t>(uint64_t{UINT32_MAX} >> length); }
  bool contains(uint32_t a) const { return a >= address && a <= last(); }
};

struct Ipv6Prefix {
  Ipv6Address address;  // bits behind the prefix are zero
  uint8_t length;

  bool operator==(const Ipv6Prefix&) const = default;
  Ipv6Address last() const;
  bool contains(const Ipv6Address& a) const {
    return ((a.high ^ address.high) & mask().high) == 0 && ((a.low ^ address.low) & mask().low) == 0;
  }
  // Ones in the bits of the prefix.
  Ipv6Address mask() const {
    return {length == 0 ? 0 : UINT64_MAX << (length < 64 ? 64 - length : 0),
            length <= 64 ? 0 : UINT64_MAX << (128 - length)};
  }
};

// Of one version; packets of the other have no address in it.
using IpPrefix = std::variant<Ipv4Prefix, Ipv6Prefix>;

// As ==, which is not known to throw nothing.
inline bool are_equal(const std::optional<IpPrefix>& a, const std::optional<IpPrefix>& b) noexcept {
  if (!a || !b) return a.has_value() == b.has_value();
  const auto *ipv4_a = std::get_if<Ipv4Prefix>(&*a), *ipv4_b = std::get_if<Ipv4Prefix>(&*b);
  if (ipv4_a != nullptr && ipv4_b != nullptr) return *ipv4_a == *ipv4_b;
  const auto *ipv6_a = std::get_if<Ipv6Prefix>(&*a), *ipv6_b = std::get_if<Ipv6Prefix>(&*b);
  return ipv6_a != nullptr && ipv6_b != nullptr && *ipv6_a == *ipv6_b;
}

// "10.0.0.0/8" or "10.1.2.3"; nothing else. Bits behind the prefix are cleared.
std::optional<Ipv4Prefix> parse_prefix(std::string_view text);
std::optional<uint32_t> parse_address(std::string_view text);

// "2001:db8::/32" or "2001:db8::1", without a zone. IPv4-mapped addresses are refused: no packet has one.
std::optional<Ipv6Prefix> parse_ipv6_prefix(std::string_view text);
std::optional<Ipv6Address> parse_ipv6_address(std::string_view text);

// Of either version.
std::optional<IpPrefix> parse_ip_prefix(std::string_view text);
inline constexpr std::string_view kIpPrefixForm =
    "must be an IPv4 or IPv6 address or prefix such as 10.0.0.0/8 or 2001:db8::/32";
// The longest that parse_ip_prefix() takes.
inline constexpr size_t kMaxPrefixText = 49;

// Decimal digits only, without sign or leading zero.
std::optional<uint32_t> parse_decimal(std::string_view text, uint32_t max);

std::string address_text(uint32_t address);
// As RFC 5952 recommends; an IPv4-mapped address as the IPv4 address.
std::string address_text(const Ipv6Address& address);

}  // namespace orrery
