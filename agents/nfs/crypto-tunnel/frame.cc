// SPDX-License-Identifier: Apache-2.0
#include "nfs/crypto-tunnel/frame.h"

#include <algorithm>
#include <cstring>

#include "support/checksum.h"

namespace orrery::crypto_tunnel {
namespace {

constexpr uint16_t kEtherIpv4 = 0x0800;
constexpr uint16_t kEtherArp = 0x0806;
constexpr uint16_t kEtherIpv6 = 0x86dd;
constexpr uint32_t kIpv4Bytes = 20;
constexpr uint32_t kIpv6Bytes = 40;
constexpr uint32_t kUdpBytes = 8;
constexpr uint8_t kTcpProto = 6, kUdpProto = 17, kEspProto = 50;
constexpr uint8_t kNextIpv4 = 4, kNextIpv6 = 41;
constexpr uint16_t kEspPort = 4500;
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint16_t kFragmentBits = 0x3fff;
constexpr uint16_t kOffsetBits = 0x1fff;
constexpr uint8_t kOuterTtl = 64;
constexpr uint8_t kDscpBits = 0xfc;
constexpr uint8_t kSynBit = 0x02;

// Length of an IP packet of which `available` bytes are there; 0 where they contradict each other.
uint32_t ip_bytes(uint8_t version, const uint8_t* ip, uint32_t available) {
  if (available < (version == 4 ? kIpv4Bytes : kIpv6Bytes) || ip[0] >> 4 != version) return 0;
  const uint32_t header = version == 4 ? (ip[0] & 0x0fu) * 4 : kIpv6Bytes;
  const uint32_t bytes = version == 4 ? load_be16(ip + 2) : kIpv6Bytes + load_be16(ip + 4);
  return header >= kIpv4Bytes && bytes >= header && bytes <= available ? bytes : 0;
}

uint8_t traffic_class(const uint8_t* ip, uint8_t version) {
  return version == 4 ? ip[1] : static_cast<uint8_t>(load_be16(ip) >> 4);
}

// DF, because a fragment of ESP cannot be checked; without ECN (RFC 6040 4.1, compatibility mode).
void write_ipv4(uint8_t* to, const Outer& outer, uint8_t dscp, uint32_t bytes) {
  std::memset(to, 0, kIpv4Bytes);
  to[0] = 0x45;
  to[1] = dscp;
  store_be16(to + 2, static_cast<uint16_t>(bytes));
  store_be16(to + 6, kDontFragment);
  to[8] = kOuterTtl;
  to[9] = outer.encapsulation == Encapsulation::kUdp ? kUdpProto : kEspProto;
  store_be32(to + 12, outer.source);
  store_be32(to + 16, outer.destination);
  store_be16(to + 10, checksum({to, kIpv4Bytes}));
}

// The header of an unfragmented TCP segment that follows the IP header, as far as it is whole; else nullptr.
uint8_t* tcp_header(uint8_t* packet, uint32_t bytes, uint32_t& header_bytes) {
  const bool v4 = packet[0] >> 4 == 4;
  const uint32_t ip_header = v4 ? (packet[0] & 0x0fu) * 4 : kIpv6Bytes;
  if (packet[v4 ? 9 : 6] != kTcpProto || (v4 && (load_be16(packet + 6) & kOffsetBits) != 0)) return nullptr;
  if (bytes < ip_header + 20) return nullptr;
  uint8_t* tcp = packet + ip_header;
  header_bytes = (tcp[12] >> 4) * 4u;
  return header_bytes >= 20 && ip_header + header_bytes <= bytes ? tcp : nullptr;
}

}  // namespace

L3 l3_of(const NfPacket& packet, IpPacket& ip) {
  const ParsedPacket& p = packet.parsed;
  if (p.kind == PacketKind::kMalformed) return L3::kMalformed;
  if (p.kind == PacketKind::kNonIp)
    return load_be16(packet.data + p.l3_offset - 2) == kEtherArp ? L3::kArp : L3::kOther;
  ip = {p.ip_version, p.l3_offset, p.ip_length()};
  return L3::kIp;
}

bool has_room(const NfPacket& packet, const IpPacket& ip, Encapsulation encapsulation) {
  return packet.headroom >= front_bytes(encapsulation) &&
         ip.offset + text_bytes(ip.bytes) + kIcvBytes <= packet.length + packet.tailroom;
}

EspPacket encapsulate(NfPacket& packet, const IpPacket& ip, const Outer& outer, uint32_t spi, uint32_t sequence) {
  const uint32_t front = front_bytes(outer.encapsulation);
  const uint32_t padded = text_bytes(ip.bytes);
  const uint32_t end = ip.offset + padded + kIcvBytes;
  const uint8_t dscp = traffic_class(packet.data + ip.offset, ip.version) & kDscpBits;

  uint8_t* text = packet.data + ip.offset;
  const uint32_t padding = padded - ip.bytes - 2;
  for (uint32_t i = 0; i < padding; ++i) text[ip.bytes + i] = static_cast<uint8_t>(i + 1);
  text[padded - 2] = static_cast<uint8_t>(padding);
  text[padded - 1] = ip.version == 4 ? kNextIpv4 : kNextIpv6;

  std::memmove(packet.data - front, packet.data, ip.offset);
  const uint32_t room = packet.length + packet.tailroom;
  packet.data -= front;
  packet.headroom = static_cast<uint16_t>(packet.headroom - front);
  packet.length = front + end;
  packet.tailroom = static_cast<uint16_t>(room - end);

  uint8_t* at = packet.data + ip.offset;
  store_be16(at - 2, kEtherIpv4);
  write_ipv4(at, outer, dscp, packet.length - ip.offset);
  at += kIpv4Bytes;
  if (outer.encapsulation == Encapsulation::kUdp) {
    store_be16(at, kEspPort);
    store_be16(at + 2, kEspPort);
    store_be16(at + 4, static_cast<uint16_t>(packet.length - ip.offset - kIpv4Bytes));
    store_be16(at + 6, 0);  // RFC 3948 2.1
    at += kUdpBytes;
  }
  store_be32(at, spi);
  store_be32(at + 4, sequence);
  return {at, padded};
}

std::optional<EspPacket> esp_of(const NfPacket& packet, const IpPacket& ip, uint32_t source, uint32_t destination) {
  if (ip.version != 4) return std::nullopt;
  uint8_t* at = packet.data + ip.offset;
  if (load_be32(at + 12) != source || load_be32(at + 16) != destination) return std::nullopt;
  if ((load_be16(at + 6) & kFragmentBits) != 0) return std::nullopt;
  const uint32_t header = (at[0] & 0x0fu) * 4;
  const uint8_t proto = at[9];
  uint32_t bytes = ip.bytes - header;
  at += header;
  if (proto == kUdpProto) {
    if (bytes < kUdpBytes || load_be16(at + 2) != kEspPort) return std::nullopt;
    const uint32_t udp_bytes = load_be16(at + 4);
    if (udp_bytes < kUdpBytes || udp_bytes > bytes) return std::nullopt;
    bytes = udp_bytes - kUdpBytes;
    at += kUdpBytes;
  } else if (proto != kEspProto) {
    return std::nullopt;
  }
  constexpr uint32_t kLeast = kEspBytes + kIvBytes + text_bytes(0) + kIcvBytes;
  if (bytes < kLeast || bytes % 4 != 0) return std::nullopt;
  return EspPacket{at, bytes - kEspBytes - kIvBytes - kIcvBytes};
}

uint32_t decapsulate(NfPacket& packet, const IpPacket& outer, const EspPacket& esp) {
  uint8_t* text = esp.text();
  const uint32_t padding = text[esp.text_bytes - 2];
  const uint8_t next = text[esp.text_bytes - 1];
  if (padding + 2 > esp.text_bytes || (next != kNextIpv4 && next != kNextIpv6)) return 0;
  const uint8_t version = next == kNextIpv4 ? 4 : 6;
  const uint32_t bytes = ip_bytes(version, text, esp.text_bytes - 2 - padding);
  if (bytes == 0) return 0;

  const uint8_t* end = packet.data + packet.length + packet.tailroom;
  uint8_t* front = text - outer.offset;
  std::memmove(front, packet.data, outer.offset);
  store_be16(text - 2, version == 4 ? kEtherIpv4 : kEtherIpv6);
  packet.headroom = static_cast<uint16_t>(packet.headroom + (front - packet.data));
  packet.data = front;
  packet.length = outer.offset + bytes;
  packet.tailroom = static_cast<uint16_t>(end - packet.data - packet.length);
  return bytes;
}

void clamp_mss(uint8_t* packet, uint32_t bytes, uint32_t largest_packet) {
  constexpr uint8_t kEnd = 0, kNop = 1, kMss = 2, kMssBytes = 4;
  uint32_t header_bytes = 0;
  uint8_t* tcp = tcp_header(packet, bytes, header_bytes);
  if (tcp == nullptr || (tcp[13] & kSynBit) == 0) return;
  const uint32_t ip_header = static_cast<uint32_t>(tcp - packet);
  const auto most = static_cast<uint16_t>(largest_packet - (packet[0] >> 4 == 4 ? kIpv4Bytes : ip_header) - 20);
  for (uint32_t i = 20; i < header_bytes && tcp[i] != kEnd;) {
    if (tcp[i] == kNop) {
      ++i;
      continue;
    }
    if (i + 1 >= header_bytes || tcp[i + 1] < 2 || i + tcp[i + 1] > header_bytes) return;
    if (tcp[i] == kMss && tcp[i + 1] == kMssBytes) {
      const uint16_t mss = load_be16(tcp + i + 2);
      if (mss <= most) return;
      store_be16(tcp + i + 2, most);
      ChecksumDelta delta;
      // At an odd offset the option's bytes stand in the other halves of two words (RFC 1071 2(B)).
      const bool odd = i % 2 != 0;
      delta.change16(odd ? __builtin_bswap16(mss) : mss, odd ? __builtin_bswap16(most) : most);
      store_be16(tcp + 16, delta.apply(load_be16(tcp + 16)));
      return;
    }
    i += tcp[i + 1];
  }
}

}  // namespace orrery::crypto_tunnel
