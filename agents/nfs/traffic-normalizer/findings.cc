// SPDX-License-Identifier: Apache-2.0
#include "nfs/traffic-normalizer/findings.h"

#include <algorithm>
#include <cstring>

#include "nfs/ip_frame.h"
#include "support/checksum.h"

namespace orrery::traffic_normalizer {
namespace {

constexpr uint8_t kTcpUrg = 0x20;
constexpr uint8_t kTcpReserved = 0x0e;  // of byte 12; bit 0 is in use (AccECN)
constexpr uint16_t kIpReserved = 0x8000;
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint16_t kFragmentBits = 0x3fff;

constexpr uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51, kDestinationOptions = 60;
constexpr uint8_t kIcmp = 1, kUdp = 17;
constexpr uint8_t kNoOperation = 1;  // IPv4
constexpr uint8_t kPad1 = 0, kPadN = 1;

bool is_bad(uint8_t flags) {
  const bool syn = (flags & kTcpSyn) != 0, fin = (flags & kTcpFin) != 0, rst = (flags & kTcpRst) != 0;
  if (syn) return fin || rst;
  if (rst) return fin;
  return (flags & kTcpAck) == 0;
}

bool header_checksum_holds(const uint8_t* ip) {
  return checksum({ip, size_t{ip[0] & 0x0fu} << 2}) == 0;
}

// Calls visit(type, header) for each extension header. Precondition: the packet is not malformed.
template <class Visit>
void for_each_extension(uint8_t* ip, Visit&& visit) {
  uint8_t type = ip[6];
  uint8_t* header = ip + 40;
  for (int n = 0; n < kMaxExtensionHeaders; ++n) {
    size_t bytes = 8;
    switch (type) {
      case kHopByHop:
      case kRouting:
      case kDestinationOptions:
        bytes = (size_t{header[1]} + 1) << 3;
        break;
      case kAuthentication:
        bytes = (size_t{header[1]} + 2) << 2;
        break;
      case kFragment:
        if ((load_be16(header + 2) & 0xfff8) != 0) return;
        break;
      default:
        return;
    }
    visit(type, header);
    type = header[0];
    header += bytes;
  }
}

// True where it cannot be told: on the way through a routing header the destination is not yet the one that the
// checksum is over (RFC 8200 8.1), and no receiver takes the packet. Precondition: kIpTransport and no fragment.
bool transport_checksum_holds(const NfPacket& packet) {
  const ParsedPacket& p = packet.parsed;
  if (p.segments_left) return true;
  const uint8_t* ip = packet.data + p.l3_offset;
  const uint8_t* l4 = packet.data + p.l4_offset;
  const bool udp = p.ip_proto == kUdp;
  size_t length = static_cast<size_t>(p.payload_offset - p.l4_offset) + p.payload_length;
  if (udp) {
    if (load_be16(l4 + 6) == 0) return p.ip_version == 4;
    length = load_be16(l4 + 4);
  }
  uint64_t sum = checksum_sum({l4, length});
  const auto sum_length = static_cast<uint16_t>(length);
  if (p.ip_version == 6) {
    sum += pseudo_header_sum(std::span<const uint8_t, 32>(ip + 8, 32), p.ip_proto, sum_length);
  } else if (p.ip_proto != kIcmp) {
    sum += pseudo_header_sum(p.ip_src, p.ip_dst, p.ip_proto, sum_length);
  }
  return checksum_fold(sum) == UINT16_MAX;
}

bool is_padding(const uint8_t* header) {
  const size_t bytes = (size_t{header[1]} + 1) << 3;
  for (size_t at = 2; at < bytes;) {
    if (header[at] == kPad1) {
      ++at;
      continue;
    }
    if (header[at] != kPadN || at + 1 >= bytes) return false;
    at += size_t{header[at + 1]} + 2;
  }
  return true;
}

bool has_options(const NfPacket& packet) {
  const ParsedPacket& p = packet.parsed;
  uint8_t* ip = packet.data + p.l3_offset;
  if (p.ip_version == 4) {
    const uint8_t* end = ip + (size_t{ip[0] & 0x0fu} << 2);
    return std::any_of(static_cast<const uint8_t*>(ip) + 20, end, [](uint8_t b) { return b != kNoOperation; });
  }
  bool found = has_source_route(packet);
  for_each_extension(ip, [&](uint8_t type, const uint8_t* header) {
    found |= (type == kHopByHop || type == kDestinationOptions) && !is_padding(header);
  });
  return found;
}

void pad_out(uint8_t* header) {
  size_t left = ((size_t{header[1]} + 1) << 3) - 2;
  uint8_t* option = header + 2;
  while (left > 0) {
    const size_t bytes = std::min<size_t>(left, 257);
    std::memset(option, 0, bytes);
    if (bytes > 1) {
      option[0] = kPadN;
      option[1] = static_cast<uint8_t>(bytes - 2);
    }
    option += bytes;
    left -= bytes;
  }
}

// A change of whole words at even offsets, for a checksum over them.
class Words {
 public:
  Words(uint8_t* first, uint8_t* checksum_field) : first_(first), field_(checksum_field) {}
  // Precondition: `at` is even and not that of the checksum.
  void store(size_t at, uint16_t value) {
    delta_.change16(load_be16(first_ + at), value);
    store_be16(first_ + at, value);
  }
  void finish() { store_be16(field_, delta_.apply(load_be16(field_))); }

 private:
  uint8_t* first_;
  uint8_t* field_;
  ChecksumDelta delta_;
};

void mend_ipv4(uint8_t* ip, Findings findings, uint8_t min_ttl) {
  Words header(ip, ip + 10);
  uint16_t flags = load_be16(ip + 6);
  if (findings.has(Finding::kReservedBits)) flags = static_cast<uint16_t>(flags & ~kIpReserved);
  if (findings.has(Finding::kDfFragment)) flags = static_cast<uint16_t>(flags & ~kDontFragment);
  header.store(6, flags);
  if (findings.has(Finding::kLowTtl)) header.store(8, static_cast<uint16_t>(min_ttl << 8 | ip[9]));
  if (findings.has(Finding::kIpOptions))
    for (size_t at = 20; at < size_t{ip[0] & 0x0fu} << 2; at += 2) header.store(at, kNoOperation << 8 | kNoOperation);
  header.finish();
}

void mend_ipv6(uint8_t* ip, Findings findings, uint8_t min_ttl) {
  if (findings.has(Finding::kLowTtl)) ip[7] = min_ttl;
  if (!findings.has(Finding::kIpOptions)) return;
  for_each_extension(ip, [](uint8_t type, uint8_t* header) {
    if (type == kHopByHop || type == kDestinationOptions) pad_out(header);
  });
}

void mend_tcp(uint8_t* tcp, Findings findings) {
  Words header(tcp, tcp + 16);
  uint16_t word = load_be16(tcp + 12);
  if (findings.has(Finding::kReservedBits)) word = static_cast<uint16_t>(word & ~(kTcpReserved << 8));
  if (findings.has(Finding::kUrgent)) {
    word = static_cast<uint16_t>(word & ~kTcpUrg);
    header.store(18, 0);
  }
  header.store(12, word);
  header.finish();
}

}  // namespace

bool has_source_route(const NfPacket& packet) {
  if (packet.parsed.ip_version != 6) return false;
  bool found = false;
  for_each_extension(packet.data + packet.parsed.l3_offset, [&](uint8_t type, const uint8_t* header) {
    found |= type == kRouting && header[2] == 0 && header[3] != 0;
  });
  return found;
}

bool is_tiny_fragment(const NfPacket& packet) {
  // The parser has found the fragment good, and what is behind its header not.
  return packet.parsed.fragment;
}

Findings examine(const NfPacket& packet, Findings wanted, uint8_t min_ttl) {
  const ParsedPacket& p = packet.parsed;
  const uint8_t* ip = packet.data + p.l3_offset;
  Findings found;
  uint8_t ttl = ip[7];
  size_t fragment_offset = 0;
  if (p.ip_version == 4) {
    ttl = ip[8];
    const uint16_t word = load_be16(ip + 6);
    fragment_offset = size_t{word & 0x1fffu} << 3;
    if ((word & kIpReserved) != 0) found.add(Finding::kReservedBits);
    if ((word & kDontFragment) != 0 && (word & kFragmentBits & ~kDontFragment) != 0) found.add(Finding::kDfFragment);
    if (wanted.has(Finding::kHeaderChecksum) && !header_checksum_holds(ip)) found.add(Finding::kHeaderChecksum);
    if ((ip[0] & 0x0f) != 5 && has_options(packet)) found.add(Finding::kIpOptions);
  } else {
    if (p.fragment_header_offset != 0)
      fragment_offset = load_be16(packet.data + p.fragment_header_offset + 2) & 0xfff8u;
    if (p.l4_offset != p.l3_offset + 40 && has_options(packet)) found.add(Finding::kIpOptions);
  }
  if (ttl < min_ttl) found.add(Finding::kLowTtl);
  // Behind 8 bytes a fragment may write over flags of TCP (RFC 1858 2.2), behind 16 over none.
  if (fragment_offset == 8 && p.ip_proto == 6) found.add(Finding::kTinyFragment);
  if (is_tcp(p)) {
    const uint8_t* tcp = packet.data + p.l4_offset;
    if (is_bad(tcp[13])) found.add(Finding::kTcpFlags);
    if ((tcp[12] & kTcpReserved) != 0) found.add(Finding::kReservedBits);
    if ((tcp[13] & kTcpUrg) != 0 || load_be16(tcp + 18) != 0) found.add(Finding::kUrgent);
  }
  const bool whole = p.kind == PacketKind::kIpTransport && !p.fragment;
  if (whole && wanted.has(Finding::kTransportChecksum) && !transport_checksum_holds(packet))
    found.add(Finding::kTransportChecksum);
  return found & wanted;
}

void mend(NfPacket& packet, Findings findings, uint8_t min_ttl) {
  uint8_t* ip = packet.data + packet.parsed.l3_offset;
  if (packet.parsed.ip_version == 4) {
    mend_ipv4(ip, findings, min_ttl);
  } else {
    mend_ipv6(ip, findings, min_ttl);
  }
  const bool tcp = findings.has(Finding::kReservedBits) || findings.has(Finding::kUrgent);
  if (tcp && is_tcp(packet.parsed)) mend_tcp(packet.data + packet.parsed.l4_offset, findings);
}

}  // namespace orrery::traffic_normalizer
