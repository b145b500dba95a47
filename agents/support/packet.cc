// SPDX-License-Identifier: Apache-2.0
#include "support/packet.h"

#include "support/checksum.h"

namespace orrery {
namespace {

constexpr uint16_t kEtherIpv4 = 0x0800;
constexpr uint16_t kEtherIpv6 = 0x86dd;
constexpr uint16_t kEtherVlan = 0x8100;
constexpr uint16_t kEtherServiceVlan = 0x88a8;
constexpr size_t kEthernetBytes = 14;
constexpr size_t kVlanBytes = 4;
constexpr int kMaxVlanTags = 2;
constexpr size_t kMinIpv4Bytes = 20;
constexpr size_t kIpv6Bytes = 40;
constexpr size_t kFragmentHeaderBytes = 8;
constexpr size_t kMinAuthenticationBytes = 12;

constexpr uint8_t kHopByHop = 0;
constexpr uint8_t kIcmp = 1;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;
constexpr uint8_t kRouting = 43;
constexpr uint8_t kFragment = 44;
constexpr uint8_t kAuthentication = 51;
constexpr uint8_t kIcmpv6 = 58;
constexpr uint8_t kDestinationOptions = 60;

bool is_vlan(uint16_t ether_type) {
  return ether_type == kEtherVlan || ether_type == kEtherServiceVlan;
}

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

// Behind the IP headers: `l4_length` bytes from l4_offset on, with a transport header at their beginning.
[[gnu::always_inline]] inline void parse_transport(ParsedPacket& p, const uint8_t* l4, size_t l4_length, bool icmp) {
  const size_t header = transport_header_bytes(p.ip_proto, l4, l4_length, p.fragment);
  if (header == 0) {
    p.kind = PacketKind::kMalformed;
    return;
  }
  p.kind = PacketKind::kIpTransport;
  p.payload_offset = static_cast<uint16_t>(p.l4_offset + header);
  p.payload_length = static_cast<uint16_t>(l4_length - header);
  if (!icmp) {
    p.src_port = load_be16(l4);
    p.dst_port = load_be16(l4 + 2);
  }
}

[[gnu::always_inline]] inline void parse_ipv4(ParsedPacket& p, const uint8_t* ip, size_t available) {
  if (available < kMinIpv4Bytes) return;
  const size_t ip_header = size_t{ip[0] & 0x0fu} << 2;
  const size_t ip_length = load_be16(ip + 2);
  if (ip[0] >> 4 != 4 || ip_header < kMinIpv4Bytes || ip_length < ip_header || ip_length > available) return;

  const uint16_t fragment_word = load_be16(ip + 6);
  const size_t fragment_offset = size_t{fragment_word & 0x1fffu} << 3;
  const size_t l4_length = ip_length - ip_header;
  // A fragment must not end beyond the largest datagram (RFC 791 3.2).
  if (fragment_offset + l4_length > UINT16_MAX - ip_header) return;
  p.fragment = (fragment_word & 0x3fff) != 0;
  p.ip_proto = ip[9];
  p.ip_src = load_be32(ip + 12);
  p.ip_dst = load_be32(ip + 16);
  p.l4_offset = static_cast<uint16_t>(p.l3_offset + ip_header);
  p.payload_offset = p.l4_offset;
  p.payload_length = static_cast<uint16_t>(l4_length);
  p.kind = PacketKind::kIpOther;
  if (fragment_offset != 0 || (p.ip_proto != kTcp && p.ip_proto != kUdp && p.ip_proto != kIcmp)) return;
  parse_transport(p, ip + ip_header, l4_length, p.ip_proto == kIcmp);
}

// The chain of headers of an IPv6 packet as far as it has been followed.
struct Ipv6Chain {
  uint8_t next;     // protocol of what lies at `offset`
  size_t offset;    // from the IPv6 header
  size_t fragment;  // offset of the fragment header; 0: none
  bool later_fragment;
};

// Takes the fragment header, within which `length` bytes are left. False: it contradicts them.
bool take_fragment_header(ParsedPacket& p, Ipv6Chain& chain, const uint8_t* header, size_t length) {
  if (chain.fragment != 0 || length < kFragmentHeaderBytes) return false;
  const uint16_t word = load_be16(header + 2);
  const size_t fragment_offset = word & 0xfff8u;
  const bool more = (word & 1) != 0;
  const size_t part = length - kFragmentHeaderBytes;
  // All but the last are whole octets of bytes, and none ends beyond the largest packet (RFC 8200 4.5).
  if (more && (part % 8 != 0 || part == 0)) return false;
  if (chain.offset - kIpv6Bytes + fragment_offset + part > UINT16_MAX) return false;
  p.fragment = more || fragment_offset != 0;
  p.fragment_header_offset = static_cast<uint16_t>(p.l3_offset + chain.offset);
  chain.fragment = chain.offset;
  chain.later_fragment = fragment_offset != 0;
  chain.next = header[0];
  chain.offset += kFragmentHeaderBytes;
  return true;
}

// Follows the extension headers of a packet of `ip_length` bytes. False: they contradict it, or there are too many.
bool follow_extension_headers(ParsedPacket& p, Ipv6Chain& chain, const uint8_t* ip, size_t ip_length) {
  for (int n = 0;; ++n) {
    switch (chain.next) {
      case kHopByHop:
        if (chain.offset != kIpv6Bytes) return false;  // RFC 8200 4.1
        break;
      case kRouting:
      case kFragment:
      case kDestinationOptions:
      case kAuthentication:
        break;
      default:
        return true;
    }
    const size_t left = ip_length - chain.offset;
    const uint8_t* header = ip + chain.offset;
    if (n == kMaxExtensionHeaders || left < 8) return false;
    if (chain.next == kFragment) {
      if (!take_fragment_header(p, chain, header, left)) return false;
      if (chain.later_fragment) return true;
      continue;
    }
    const bool authentication = chain.next == kAuthentication;
    p.authentication_header |= authentication;
    p.segments_left |= chain.next == kRouting && header[3] != 0;
    const size_t bytes = authentication ? (size_t{header[1]} + 2) << 2 : (size_t{header[1]} + 1) << 3;
    if (bytes > left || (authentication && bytes < kMinAuthenticationBytes)) return false;
    chain.next = header[0];
    chain.offset += bytes;
    if (chain.offset - kIpv6Bytes > kMaxExtensionBytes) return false;
  }
}

// Kept out of the way of IPv4, which would pay a quarter more for it.
[[gnu::noinline]] void parse_ipv6(ParsedPacket& p, const uint8_t* ip, size_t available) {
  if (available < kIpv6Bytes || ip[0] >> 4 != 6) return;
  // A length of 0 is meant: a jumbogram (RFC 2675) is longer than any frame here.
  const size_t ip_length = kIpv6Bytes + load_be16(ip + 4);
  if (ip_length > available) return;
  p.ipv6_src = {load_be64(ip + 8), load_be64(ip + 16)};
  p.ipv6_dst = {load_be64(ip + 24), load_be64(ip + 32)};
  if (is_ipv4_mapped(p.ipv6_src) || is_ipv4_mapped(p.ipv6_dst)) return;
  Ipv6Chain chain{.next = ip[6], .offset = kIpv6Bytes, .fragment = 0, .later_fragment = false};
  if (!follow_extension_headers(p, chain, ip, ip_length)) return;
  const size_t l4_length = ip_length - chain.offset;
  p.ip_proto = chain.next;
  p.l4_offset = static_cast<uint16_t>(p.l3_offset + chain.offset);
  p.payload_offset = p.l4_offset;
  p.payload_length = static_cast<uint16_t>(l4_length);
  p.kind = PacketKind::kIpOther;
  const bool icmp = p.ip_proto == kIcmpv6;
  if (chain.later_fragment || (p.ip_proto != kTcp && p.ip_proto != kUdp && !icmp)) return;
  parse_transport(p, ip + chain.offset, l4_length, icmp);
}

}  // namespace

ParsedPacket parse_packet(std::span<const uint8_t> frame) {
  ParsedPacket p;
  if (frame.size() < kEthernetBytes || frame.size() > UINT16_MAX) return p;
  const uint8_t* data = frame.data();
  size_t l3 = kEthernetBytes;
  uint16_t ether_type = load_be16(data + 12);
  if (ether_type != kEtherIpv4) {
    for (int tags = 0; tags < kMaxVlanTags && is_vlan(ether_type); ++tags) {
      if (frame.size() < l3 + kVlanBytes) return p;
      ether_type = load_be16(data + l3 + 2);
      l3 += kVlanBytes;
    }
  }
  p.l3_offset = static_cast<uint16_t>(l3);
  if (ether_type == kEtherIpv4) {
    p.ip_version = 4;
    parse_ipv4(p, data + l3, frame.size() - l3);
  } else if (ether_type == kEtherIpv6) {
    p.ip_version = 6;
    parse_ipv6(p, data + l3, frame.size() - l3);
  } else {
    p.kind = PacketKind::kNonIp;
    p.payload_offset = p.l4_offset = p.l3_offset;
    p.payload_length = static_cast<uint16_t>(frame.size() - l3);
  }
  return p;
}

}  // namespace orrery
