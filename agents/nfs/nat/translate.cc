// SPDX-License-Identifier: Apache-2.0
#include "nfs/nat/translate.h"

#include "support/checksum.h"

namespace orrery::nat {
namespace {

// Changes a 16-bit checksum field; the change of the field itself counts for a checksum that covers it.
void update_field(uint8_t* field, const ChecksumDelta& delta, ChecksumDelta* outer = nullptr) {
  const uint16_t before = load_be16(field);
  const uint16_t after = delta.apply(before);
  store_be16(field, after);
  if (outer != nullptr) outer->change16(before, after);
}

// As update_field for UDP over IPv4, where 0 means "no checksum" (RFC 768).
void update_udp_field(uint8_t* field, const ChecksumDelta& delta, ChecksumDelta* outer = nullptr) {
  const uint16_t before = load_be16(field);
  if (before == 0) return;
  uint16_t after = delta.apply(before);
  if (after == 0) after = UINT16_MAX;
  store_be16(field, after);
  if (outer != nullptr) outer->change16(before, after);
}

uint8_t* address_field(uint8_t* ip, Side side) {
  return ip + (side == Side::kSource ? 12 : 16);
}

// An ICMP query has one identifier for both ends.
uint8_t* port_field(uint8_t* l4, uint8_t proto, Side side) {
  if (proto == kProtoIcmp) return l4 + 4;
  return l4 + (side == Side::kSource ? 0 : 2);
}

}  // namespace

void rewrite_endpoint(NfPacket& packet, Side side, Endpoint to) {
  ParsedPacket& p = packet.parsed;
  uint8_t* ip = packet.data + p.l3_offset;
  uint8_t* l4 = packet.data + p.l4_offset;
  uint8_t* address = address_field(ip, side);
  uint8_t* port = port_field(l4, p.ip_proto, side);

  ChecksumDelta address_change;
  address_change.change32(load_be32(address), to.address);
  store_be32(address, to.address);
  update_field(ip + 10, address_change);

  ChecksumDelta port_change;
  port_change.change16(load_be16(port), to.port);
  store_be16(port, to.port);
  switch (p.ip_proto) {
    case kProtoTcp:
      port_change.add(address_change);
      update_field(l4 + 16, port_change);
      break;
    case kProtoUdp:
      port_change.add(address_change);
      update_udp_field(l4 + 6, port_change);
      break;
    default:
      update_field(l4 + 2, port_change);
  }

  (side == Side::kSource ? p.ip_src : p.ip_dst) = to.address;
  if (p.ip_proto != kProtoIcmp) (side == Side::kSource ? p.src_port : p.dst_port) = to.port;
}

std::optional<QuotedPacket> quoted_packet(const NfPacket& packet) {
  const ParsedPacket& p = packet.parsed;
  const uint8_t* ip = packet.data + p.payload_offset;
  const size_t available = p.payload_length;
  if (available < 20 || ip[0] >> 4 != 4) return std::nullopt;
  const size_t header = size_t{ip[0] & 0x0fu} << 2;
  // At least 64 bits of the datagram are quoted (RFC 792).
  if (header < 20 || available < header + 8 || (load_be16(ip + 6) & 0x1fff) != 0) return std::nullopt;
  const uint8_t* l4 = ip + header;
  QuotedPacket q{};
  q.l3_offset = p.payload_offset;
  q.l4_offset = static_cast<uint16_t>(p.payload_offset + header);
  q.l4_length = static_cast<uint16_t>(available - header);
  q.proto = ip[9];
  q.source.address = load_be32(ip + 12);
  q.destination.address = load_be32(ip + 16);
  if (q.proto == kProtoTcp || q.proto == kProtoUdp) {
    q.source.port = load_be16(l4);
    q.destination.port = load_be16(l4 + 2);
  } else if (q.proto == kProtoIcmp && (is_icmp_query(l4[0]) || is_icmp_reply(l4[0]))) {
    q.source.port = q.destination.port = load_be16(l4 + 4);
  } else {
    return std::nullopt;
  }
  return q;
}

void rewrite_icmp_error(NfPacket& packet, const QuotedPacket& quoted, Side outer_side, Endpoint to) {
  ParsedPacket& p = packet.parsed;
  uint8_t* ip = packet.data + p.l3_offset;
  uint8_t* icmp = packet.data + p.l4_offset;
  uint8_t* inner_ip = packet.data + quoted.l3_offset;
  uint8_t* inner_l4 = packet.data + quoted.l4_offset;
  const Side inner_side = outer_side == Side::kSource ? Side::kDestination : Side::kSource;
  uint8_t* inner_address = address_field(inner_ip, inner_side);
  uint8_t* inner_port = port_field(inner_l4, quoted.proto, inner_side);

  ChecksumDelta message;  // all that changes inside the ICMP message
  ChecksumDelta address_change;
  address_change.change32(load_be32(inner_address), to.address);
  store_be32(inner_address, to.address);
  message.add(address_change);
  update_field(inner_ip + 10, address_change, &message);

  ChecksumDelta port_change;
  port_change.change16(load_be16(inner_port), to.port);
  store_be16(inner_port, to.port);
  message.add(port_change);
  switch (quoted.proto) {
    case kProtoTcp:
      port_change.add(address_change);
      if (quoted.l4_length >= 18) update_field(inner_l4 + 16, port_change, &message);
      break;
    case kProtoUdp:
      port_change.add(address_change);
      update_udp_field(inner_l4 + 6, port_change, &message);
      break;
    default:
      update_field(inner_l4 + 2, port_change, &message);
  }
  update_field(icmp + 2, message);

  uint8_t* outer_address = address_field(ip, outer_side);
  ChecksumDelta outer_change;
  outer_change.change32(load_be32(outer_address), to.address);
  store_be32(outer_address, to.address);
  update_field(ip + 10, outer_change);
  (outer_side == Side::kSource ? p.ip_src : p.ip_dst) = to.address;
}

}  // namespace orrery::nat
