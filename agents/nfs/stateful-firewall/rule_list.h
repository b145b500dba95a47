// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "nfs/config_reader.h"
#include "support/packet.h"

namespace orrery::stateful_firewall {

// One rule as it is for packets of an IP version; a packet without ports has port 0.
template <class Prefix>
struct ConnectionRule {
  Prefix src{};
  Prefix dst{};
  std::optional<uint8_t> proto;
  PortRange dst_port{0, UINT16_MAX};
  uint8_t index = 0;  // in the configuration

  bool operator==(const ConnectionRule&) const = default;

  template <class Address>
  bool matches(Address from, Address to, const ParsedPacket& p) const {
    return src.contains(from) && dst.contains(to) && (!proto || *proto == p.ip_proto) && p.dst_port >= dst_port.lo &&
           p.dst_port <= dst_port.hi;
  }
};

// As many as a board's slot module has.
inline constexpr size_t kMaxConnectionRules = 16;

// The rules of a configuration. A rule without addresses is for both IP versions.
struct ConnectionRules {
  std::vector<bool> allow;  // what each rule does
  std::vector<ConnectionRule<Ipv4Prefix>> ipv4;
  std::vector<ConnectionRule<Ipv6Prefix>> ipv6;

  bool operator==(const ConnectionRules&) const = default;

  // Index of the first that matches. Precondition: an IP packet.
  std::optional<uint8_t> first_match(const ParsedPacket& p) const {
    return p.ip_version == 6 ? first_of(ipv6, p.ipv6_src, p.ipv6_dst, p) : first_of(ipv4, p.ip_src, p.ip_dst, p);
  }

 private:
  template <class Rules, class Address>
  static std::optional<uint8_t> first_of(const Rules& rules, Address src, Address dst, const ParsedPacket& p) {
    for (const auto& rule : rules)
      if (rule.matches(src, dst, p)) return rule.index;
    return std::nullopt;
  }
};

// The array `rules` of a configuration. Throws ConfigError.
ConnectionRules read_connection_rules(ConfigReader& reader);

}  // namespace orrery::stateful_firewall
