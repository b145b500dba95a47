// SPDX-License-Identifier: Apache-2.0
#include "modules/classify/match.h"

#include "nfs/config_reader.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr std::string_view kCode = "invalid-config";

MatchTerm parse_term(const nlohmann::json& value, const std::string& pointer) {
  JsonFields fields(value, pointer, kCode);
  MatchTerm term{};
  const std::string field = fields.string("field", 32);
  if (field == "ip.src" || field == "ip.dst") {
    term.field = field == "ip.src" ? MatchTerm::Field::kIpSrc : MatchTerm::Field::kIpDst;
    const std::optional<Ipv4Prefix> prefix = parse_prefix(fields.string("prefix", 32));
    if (!prefix) fields.fail("prefix", "must be an IPv4 address or prefix such as 10.0.0.0/8");
    term.lo = prefix->address;
    term.hi = prefix->last();
  } else if (field == "ip.proto") {
    term.field = MatchTerm::Field::kIpProto;
    term.lo = term.hi = static_cast<uint32_t>(fields.integer("value", 0, 255));
  } else if (field == "port.src" || field == "port.dst") {
    term.field = field == "port.src" ? MatchTerm::Field::kPortSrc : MatchTerm::Field::kPortDst;
    term.lo = static_cast<uint32_t>(fields.integer("lo", 0, 65535));
    term.hi = static_cast<uint32_t>(fields.integer("hi", term.lo, 65535));
  } else if (field == "metadata") {
    term.field = MatchTerm::Field::kMetadata;
    term.shift = static_cast<uint8_t>(fields.integer("offset", 0, 15));
    term.mask = (uint32_t{1} << fields.integer("width", 1, 16 - term.shift)) - 1;
    term.lo = term.hi = static_cast<uint32_t>(fields.integer("value", 0, term.mask));
  } else {
    fields.fail("field", "there is no field " + field);
  }
  term.negated = fields.boolean_or("not", false);
  fields.done();
  return term;
}

bool has_addresses(const ParsedPacket& packet) {
  return packet.kind == PacketKind::kIpOther || packet.kind == PacketKind::kIpTransport;
}

bool has_ports(const ParsedPacket& packet) {
  constexpr uint8_t kIcmp = 1;
  return packet.kind == PacketKind::kIpTransport && packet.ip_proto != kIcmp;
}

}  // namespace

bool MatchTerm::holds(const ParsedPacket& packet, uint16_t metadata) const {
  bool present = false;
  uint32_t value = 0;
  switch (field) {
    case Field::kIpSrc:
      present = has_addresses(packet);
      value = packet.ip_src;
      break;
    case Field::kIpDst:
      present = has_addresses(packet);
      value = packet.ip_dst;
      break;
    case Field::kIpProto:
      present = has_addresses(packet);
      value = packet.ip_proto;
      break;
    case Field::kPortSrc:
      present = has_ports(packet);
      value = packet.src_port;
      break;
    case Field::kPortDst:
      present = has_ports(packet);
      value = packet.dst_port;
      break;
    case Field::kMetadata:
      present = true;
      value = (metadata >> shift) & mask;
      break;
  }
  return (present && value >= lo && value <= hi) != negated;
}

Match parse_match(const nlohmann::json& terms, const std::string& pointer) {
  if (!terms.is_array()) throw EngineError(kCode, pointer, "must be an array");
  Match match;
  for (size_t i = 0; i < terms.size(); ++i) match.push_back(parse_term(terms[i], pointer + "/" + std::to_string(i)));
  return match;
}

}  // namespace orrery
