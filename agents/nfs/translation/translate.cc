// SPDX-License-Identifier: Apache-2.0
#include "nfs/translation/translate.h"

#include "support/checksum.h"

namespace orrery {
namespace {

// Changes a 16-bit checksum field; the change of the field itself counts for a checksum that covers it.
void update_field(uint8_t* field, const ChecksumDelta& delta, ChecksumDelta* outer = nullptr) {
  const uint16_t before = load_be16(field);
  const uint16_t after = delta.apply(before);
  store_be16(field, after);
  if (outer != nullptr) outer->change16(before, after);
}

// As update_field for UDP, where 0 means "no checksum" (RFC 768, RFC 6935).
void update_udp_field(uint8_t* field, const ChecksumDelta& delta, ChecksumDelta* outer = nullptr) {
  const uint16_t before = load_be16(field);
  if (before == 0) return;
  uint16_t after = delta.apply(before);
  if (after == 0) after = UINT16_MAX;
  store_be16(field, after);
  if (outer != nullptr) outer->change16(before, after);
}

// The change that a checksum over the address sees, as that of a pseudo header.
ChecksumDelta replace_address(uint8_t* ip, Side side, const Ipv6Address& to) {
  ChecksumDelta change;
  if (ip[0] >> 4 == 4) {
    uint8_t* field = ip + (side == Side::kSource ? 12 : 16);
    const auto address = static_cast<uint32_t>(to.low);
    change.change32(load_be32(field), address);
    store_be32(field, address);
    return change;
  }
  uint8_t* field = ip + (side == Side::kSource ? 8 : 24);
  for (const uint64_t word : {to.high, to.low}) {
    const uint64_t before = load_be64(field);
    change.change32(static_cast<uint32_t>(before >> 32), static_cast<uint32_t>(word >> 32));
    change.change32(static_cast<uint32_t>(before), static_cast<uint32_t>(word));
    store_be64(field, word);
    field += 8;
  }
  return change;
}

// Of IPv6 there is none.
void update_header_checksum(uint8_t* ip, const ChecksumDelta& change, ChecksumDelta* outer = nullptr) {
  if (ip[0] >> 4 == 4) update_field(ip + 10, change, outer);
}

// An ICMP query has one identifier for both ends.
ChecksumDelta replace_port(uint8_t* l4, uint8_t proto, Side side, uint16_t to) {
  const bool has_ports = proto == kProtoTcp || proto == kProtoUdp;
  uint8_t* field = l4 + (!has_ports ? 4 : side == Side::kSource ? 0 : 2);
  ChecksumDelta change;
  change.change16(load_be16(field), to);
  store_be16(field, to);
  return change;
}

// Of `l4_length` bytes of a transport header. The checksum of ICMP covers no addresses.
void update_transport_checksum(uint8_t* l4, size_t l4_length, uint8_t proto, const ChecksumDelta& address,
                               ChecksumDelta port, ChecksumDelta* outer = nullptr) {
  if (proto != kProtoIcmp) port.add(address);
  switch (proto) {
    case kProtoTcp:
      if (l4_length >= 18) update_field(l4 + 16, port, outer);
      break;
    case kProtoUdp:
      update_udp_field(l4 + 6, port, outer);
      break;
    default:
      update_field(l4 + 2, port, outer);
  }
}

void store_parsed_address(ParsedPacket& p, Side side, const Ipv6Address& to) {
  if (p.ip_version == 4) {
    (side == Side::kSource ? p.ip_src : p.ip_dst) = static_cast<uint32_t>(to.low);
  } else {
    (side == Side::kSource ? p.ipv6_src : p.ipv6_dst) = to;
  }
}

Side opposite(Side side) {
  return side == Side::kSource ? Side::kDestination : Side::kSource;
}

struct QuotedHeaders {
  size_t bytes;  // of IP headers; 0: not known
  uint8_t proto;
  bool later_fragment;
};

// Of what is quoted at `ip`; of IPv6 behind headers with options, as far as they are there.
QuotedHeaders quoted_headers(const uint8_t* ip, size_t available, uint8_t ip_version) {
  if (available < 20 || ip[0] >> 4 != ip_version) return {};
  if (ip_version == 4) {
    const size_t bytes = size_t{ip[0] & 0x0fu} << 2;
    if (bytes < 20) return {};
    return {bytes, ip[9], (load_be16(ip + 6) & 0x1fff) != 0};
  }
  QuotedHeaders headers{40, ip[6], false};
  for (int n = 0; n < kMaxExtensionHeaders && available >= headers.bytes + 8; ++n) {
    const uint8_t* next = ip + headers.bytes;
    switch (headers.proto) {
      case 44:  // fragment
        headers.later_fragment = (load_be16(next + 2) & 0xfff8) != 0;
        headers.bytes += 8;
        break;
      case 0:   // hop-by-hop options
      case 43:  // routing
      case 60:  // destination options
        headers.bytes += (size_t{next[1]} + 1) << 3;
        break;
      default:
        return headers;
    }
    headers.proto = next[0];
    if (headers.later_fragment) return headers;
  }
  return headers;
}

}  // namespace

void rewrite_endpoint(NfPacket& packet, Side side, const Endpoint& to) {
  ParsedPacket& p = packet.parsed;
  uint8_t* ip = packet.data + p.l3_offset;
  uint8_t* l4 = packet.data + p.l4_offset;
  const ChecksumDelta address = replace_address(ip, side, to.address);
  update_header_checksum(ip, address);
  const ChecksumDelta port = replace_port(l4, p.ip_proto, side, to.port);
  update_transport_checksum(l4, SIZE_MAX, p.ip_proto, address, port);
  store_parsed_address(p, side, to.address);
  if (!is_icmp(p)) (side == Side::kSource ? p.src_port : p.dst_port) = to.port;
}

void rewrite_address(NfPacket& packet, Side side, const Ipv6Address& to) {
  ParsedPacket& p = packet.parsed;
  uint8_t* ip = packet.data + p.l3_offset;
  const ChecksumDelta address = replace_address(ip, side, to);
  update_header_checksum(ip, address);
  const bool covered = p.kind == PacketKind::kIpTransport && p.ip_proto != kProtoIcmp;
  if (covered) update_transport_checksum(packet.data + p.l4_offset, SIZE_MAX, p.ip_proto, address, {});
  store_parsed_address(p, side, to);
}

std::optional<QuotedPacket> quoted_ip_packet(const NfPacket& packet) {
  const ParsedPacket& p = packet.parsed;
  const uint8_t* ip = packet.data + p.payload_offset;
  const size_t available = p.payload_length;
  const auto [header, proto, later_fragment] = quoted_headers(ip, available, p.ip_version);
  if (header == 0 || available < header + 8) return std::nullopt;
  const uint8_t* l4 = ip + header;
  QuotedPacket q{};
  q.l3_offset = p.payload_offset;
  q.l4_offset = static_cast<uint16_t>(p.payload_offset + header);
  q.l4_length = static_cast<uint16_t>(available - header);
  q.proto = proto;
  if (p.ip_version == 4) {
    q.source.address = ipv4_mapped(load_be32(ip + 12));
    q.destination.address = ipv4_mapped(load_be32(ip + 16));
  } else {
    q.source.address = {load_be64(ip + 8), load_be64(ip + 16)};
    q.destination.address = {load_be64(ip + 24), load_be64(ip + 32)};
  }
  if (later_fragment) return q;
  const uint8_t icmp = p.ip_version == 4 ? kProtoIcmp : kProtoIcmpv6;
  if (q.proto == kProtoTcp || q.proto == kProtoUdp) {
    q.has_ports = true;
    q.source.port = load_be16(l4);
    q.destination.port = load_be16(l4 + 2);
  } else if (q.proto == icmp && (is_icmp_query(l4[0], p.ip_version) || is_icmp_reply(l4[0], p.ip_version))) {
    q.has_ports = true;
    q.source.port = q.destination.port = load_be16(l4 + 4);
  }
  return q;
}

std::optional<QuotedPacket> quoted_packet(const NfPacket& packet) {
  const auto quoted = quoted_ip_packet(packet);
  return quoted && quoted->has_ports ? quoted : std::nullopt;
}

void rewrite_quoted(NfPacket& packet, const QuotedPacket& quoted, Side side, const Endpoint& to) {
  uint8_t* ip = packet.data + quoted.l3_offset;
  uint8_t* l4 = packet.data + quoted.l4_offset;
  ChecksumDelta message;  // all that changes inside the ICMP message
  const ChecksumDelta address = replace_address(ip, side, to.address);
  message.add(address);
  update_header_checksum(ip, address, &message);
  if (quoted.has_ports) {
    const ChecksumDelta port = replace_port(l4, quoted.proto, side, to.port);
    message.add(port);
    update_transport_checksum(l4, quoted.l4_length, quoted.proto, address, port, &message);
  }
  update_field(packet.data + packet.parsed.l4_offset + 2, message);
}

void rewrite_icmp_error(NfPacket& packet, const QuotedPacket& quoted, Side outer_side, const Endpoint& to) {
  rewrite_quoted(packet, quoted, opposite(outer_side), to);
  rewrite_address(packet, outer_side, to.address);
}

}  // namespace orrery
