// SPDX-License-Identifier: Apache-2.0
#include "support/packet.h"

#include "support/checksum.h"

namespace orrery {
namespace {

constexpr uint16_t kEtherIpv4 = 0x0800;
constexpr uint16_t kEtherVlan = 0x8100;
constexpr size_t kEthernetBytes = 14;
constexpr size_t kVlanBytes = 4;
constexpr size_t kMinIpv4Bytes = 20;
constexpr uint8_t kIcmp = 1;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

// Length of the transport header, 0 when it does not fit into `length` bytes or contradicts them.
size_t transport_header_bytes(uint8_t proto, const uint8_t* l4, size_t length, bool fragment) {
  switch (proto) {
    case kTcp: {
      if (length < 20) return 0;
      const size_t header = size_t{l4[12]} >> 4 << 2;
      return header >= 20 && header <= length ? header : 0;
    }
    case kUdp: {
      if (length < 8) return 0;
      const size_t udp_length = load_be16(l4 + 4);
      // The length of a fragmented datagram counts bytes of later fragments too.
      return udp_length >= 8 && (fragment || udp_length <= length) ? 8 : 0;
    }
    default:
      return length < 8 ? 0 : 8;
  }
}

}  // namespace

ParsedPacket parse_packet(std::span<const uint8_t> frame) {
  ParsedPacket p;
  if (frame.size() < kEthernetBytes || frame.size() > UINT16_MAX) return p;
  const uint8_t* data = frame.data();
  size_t l3 = kEthernetBytes;
  uint16_t ether_type = load_be16(data + 12);
  if (ether_type == kEtherVlan) {
    if (frame.size() < kEthernetBytes + kVlanBytes) return p;
    ether_type = load_be16(data + 16);
    l3 += kVlanBytes;
  }
  p.l3_offset = static_cast<uint16_t>(l3);
  if (ether_type != kEtherIpv4) {
    p.kind = PacketKind::kNonIp;
    p.payload_offset = p.l4_offset = p.l3_offset;
    p.payload_length = static_cast<uint16_t>(frame.size() - l3);
    return p;
  }

  const size_t available = frame.size() - l3;
  if (available < kMinIpv4Bytes) return p;
  const uint8_t* ip = data + l3;
  const size_t ip_header = size_t{ip[0] & 0x0fu} << 2;
  const size_t ip_length = load_be16(ip + 2);
  if (ip[0] >> 4 != 4 || ip_header < kMinIpv4Bytes || ip_length < ip_header || ip_length > available) return p;

  const uint16_t fragment_word = load_be16(ip + 6);
  const size_t fragment_offset = size_t{fragment_word & 0x1fffu} << 3;
  const size_t l4_length = ip_length - ip_header;
  // A fragment must not end beyond the largest datagram (RFC 791 3.2).
  if (fragment_offset + l4_length > UINT16_MAX - ip_header) return p;
  p.fragment = (fragment_word & 0x3fff) != 0;
  p.ip_proto = ip[9];
  p.ip_src = load_be32(ip + 12);
  p.ip_dst = load_be32(ip + 16);
  p.l4_offset = static_cast<uint16_t>(l3 + ip_header);
  p.payload_offset = p.l4_offset;
  p.payload_length = static_cast<uint16_t>(l4_length);
  p.kind = PacketKind::kIpOther;
  if (fragment_offset != 0 || (p.ip_proto != kTcp && p.ip_proto != kUdp && p.ip_proto != kIcmp)) return p;

  const uint8_t* l4 = data + p.l4_offset;
  const size_t header = transport_header_bytes(p.ip_proto, l4, l4_length, p.fragment);
  if (header == 0) {
    p.kind = PacketKind::kMalformed;
    return p;
  }
  p.kind = PacketKind::kIpTransport;
  p.payload_offset = static_cast<uint16_t>(p.l4_offset + header);
  p.payload_length = static_cast<uint16_t>(l4_length - header);
  if (p.ip_proto != kIcmp) {
    p.src_port = load_be16(l4);
    p.dst_port = load_be16(l4 + 2);
  }
  return p;
}

}  // namespace orrery
