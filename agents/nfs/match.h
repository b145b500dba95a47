// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nfs/ip_prefix.h"
#include "support/packet.h"

namespace orrery {

// MatchTerm of the contract. A term about a field that the packet lacks does not hold, so its negation does. An address
// of the other IP version than the term's prefix is such a field.
struct MatchTerm {
  enum class Field : uint8_t { kIpSrc, kIpDst, kIpv6Src, kIpv6Dst, kIpProto, kPortSrc, kPortDst, kMetadata } field;
  bool negated = false;
  uint8_t shift = 0;  // metadata
  uint32_t mask = 0;  // metadata
  uint32_t lo = 0;    // inclusive; equal to hi where the field is compared with one value
  uint32_t hi = 0;
  Ipv6Prefix ipv6{};

  bool holds(const ParsedPacket& packet, uint16_t metadata) const;
};

// A conjunction; empty matches all.
using Match = std::vector<MatchTerm>;

inline bool matches(const Match& match, const ParsedPacket& packet, uint16_t metadata) {
  for (const MatchTerm& term : match)
    if (!term.holds(packet, metadata)) return false;
  return true;
}

// Throws EngineError `invalid-config`.
Match parse_match(const nlohmann::json& terms, const std::string& pointer);

}  // namespace orrery
