// SPDX-License-Identifier: Apache-2.0
#include "nfs/match.h"

#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr std::string_view kInvalidTerms = "invalid-config";

void read_prefix(MatchTerm& term, JsonFields& fields, bool source) {
  const std::optional<IpPrefix> prefix = parse_ip_prefix(fields.string("prefix", kMaxPrefixText));
  if (!prefix) fields.fail("prefix", std::string(kIpPrefixForm));
  if (const auto* ipv6 = std::get_if<Ipv6Prefix>(&*prefix)) {
    term.field = source ? MatchTerm::Field::kIpv6Src : MatchTerm::Field::kIpv6Dst;
    term.ipv6 = *ipv6;
  } else {
    const auto& ipv4 = std::get<Ipv4Prefix>(*prefix);
    term.field = source ? MatchTerm::Field::kIpSrc : MatchTerm::Field::kIpDst;
    term.lo = ipv4.address;
    term.hi = ipv4.last();
  }
}

MatchTerm parse_term(const nlohmann::json& value, const std::string& pointer) {
  JsonFields fields(value, pointer, kInvalidTerms);
  MatchTerm term{};
  const std::string field = fields.string("field", 32);
  if (field == "ip.src" || field == "ip.dst") {
    read_prefix(term, fields, field == "ip.src");
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

bool has_ip_header(const ParsedPacket& packet) {
  return packet.kind == PacketKind::kIpOther || packet.kind == PacketKind::kIpTransport;
}

bool names_ports(const ParsedPacket& packet) {
  constexpr uint8_t kTcp = 6, kUdp = 17;
  return packet.kind == PacketKind::kIpTransport && (packet.ip_proto == kTcp || packet.ip_proto == kUdp);
}

}  // namespace

bool MatchTerm::holds(const ParsedPacket& packet, uint16_t metadata) const {
  bool present = false;
  uint32_t value = 0;
  switch (field) {
    case Field::kIpSrc:
      present = has_ip_header(packet) && packet.ip_version == 4;
      value = packet.ip_src;
      break;
    case Field::kIpDst:
      present = has_ip_header(packet) && packet.ip_version == 4;
      value = packet.ip_dst;
      break;
    case Field::kIpv6Src:
      return (packet.has_ipv6() && ipv6.contains(packet.ipv6_src)) != negated;
    case Field::kIpv6Dst:
      return (packet.has_ipv6() && ipv6.contains(packet.ipv6_dst)) != negated;
    case Field::kIpProto:
      present = has_ip_header(packet);
      value = packet.ip_proto;
      break;
    case Field::kPortSrc:
      present = names_ports(packet);
      value = packet.src_port;
      break;
    case Field::kPortDst:
      present = names_ports(packet);
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
  if (!terms.is_array()) throw EngineError(kInvalidTerms, pointer, "must be an array");
  Match match;
  for (size_t i = 0; i < terms.size(); ++i) match.push_back(parse_term(terms[i], pointer + "/" + std::to_string(i)));
  return match;
}

}  // namespace orrery
