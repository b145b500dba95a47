// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "nfs/config_reader.h"
#include "support/packet.h"

namespace orrery::stateful_firewall {

// One rule; a packet without ports has port 0.
struct ConnectionRule {
  bool allow = false;
  Ipv4Prefix src{0, 0};
  Ipv4Prefix dst{0, 0};
  std::optional<uint8_t> proto;
  PortRange dst_port{0, UINT16_MAX};

  bool operator==(const ConnectionRule&) const = default;

  bool matches(const ParsedPacket& p) const {
    return p.ip_src >= src.address && p.ip_src <= src.last() && p.ip_dst >= dst.address && p.ip_dst <= dst.last() &&
           (!proto || *proto == p.ip_proto) && p.dst_port >= dst_port.lo && p.dst_port <= dst_port.hi;
  }
};

// As many as a board's slot module has.
inline constexpr size_t kMaxConnectionRules = 16;

// The array `rules` of a configuration. Throws ConfigError.
std::vector<ConnectionRule> read_connection_rules(ConfigReader& reader);

}  // namespace orrery::stateful_firewall
