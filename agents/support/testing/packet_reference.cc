// SPDX-License-Identifier: Apache-2.0
#include "support/testing/packet_reference.h"

#include <exception>
#include <set>
#include <vector>

namespace orrery::testing {
namespace {

using Bytes = std::vector<uint8_t>;

class Malformed : public std::exception {};

// Bytes that are consumed from the front. Whoever wants more than there are finds the packet malformed.
class Input {
 public:
  explicit Input(Bytes bytes) : bytes_(std::move(bytes)) {}

  size_t left() const { return bytes_.size() - at_; }
  Bytes take(size_t count) {
    if (count > left()) throw Malformed{};
    Bytes out(bytes_.begin() + static_cast<ptrdiff_t>(at_), bytes_.begin() + static_cast<ptrdiff_t>(at_ + count));
    at_ += count;
    return out;
  }
  // The same without those behind.
  Input limited_to(size_t count) const {
    Input out = *this;
    return Input(out.take(count));
  }

 private:
  Bytes bytes_;
  size_t at_ = 0;
};

uint64_t number(const Bytes& bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value * 256 + bytes.at(at + i);
  return value;
}

void expect(bool holds) {
  if (!holds) throw Malformed{};
}

// The transport header in front of what is left of the packet, of which nothing is absent but in a fragment.
void read_transport(ParsedPacket& p, Input rest, int icmp) {
  const size_t length = rest.left();
  size_t header_bytes = 8;
  const Bytes fixed = rest.take(p.ip_proto == 6 ? 20 : 8);
  if (p.ip_proto == 6) {
    header_bytes = size_t{fixed.at(12)} / 16 * 4;
    expect(header_bytes >= 20 && header_bytes <= length);
  } else if (p.ip_proto == 17) {
    const uint64_t udp_length = number(fixed, 4, 2);
    expect(udp_length >= 8 && (p.fragment || udp_length <= length));
  }
  if (p.ip_proto != icmp) {
    p.src_port = static_cast<uint16_t>(number(fixed, 0, 2));
    p.dst_port = static_cast<uint16_t>(number(fixed, 2, 2));
  }
  p.kind = PacketKind::kIpTransport;
  p.payload_offset = static_cast<uint16_t>(p.l4_offset + header_bytes);
  p.payload_length = static_cast<uint16_t>(length - header_bytes);
}

void read_upper_layer(ParsedPacket& p, const Input& rest, size_t l4_offset, bool later_fragment, int icmp) {
  p.kind = PacketKind::kIpOther;
  p.l4_offset = p.payload_offset = static_cast<uint16_t>(l4_offset);
  p.payload_length = static_cast<uint16_t>(rest.left());
  const std::set<int> with_header{6, 17, icmp};
  if (!later_fragment && with_header.contains(p.ip_proto)) read_transport(p, rest, icmp);
}

void read_ipv4(ParsedPacket& p, const Input& frame, size_t offset) {
  Input peeked = frame;
  const Bytes fixed = peeked.take(20);
  const uint64_t header_bytes = uint64_t{fixed.at(0)} % 16 * 4, length = number(fixed, 2, 2);
  expect(fixed.at(0) / 16 == 4 && header_bytes >= 20 && length >= header_bytes && length <= frame.left());
  Input rest = frame.limited_to(length);
  rest.take(header_bytes);
  const uint64_t word = number(fixed, 6, 2), fragment_offset = word % 8192 * 8;
  expect(fragment_offset + length <= 65535);
  p.fragment = word / 8192 % 2 == 1 || fragment_offset != 0;
  p.ip_proto = fixed.at(9);
  p.ip_src = static_cast<uint32_t>(number(fixed, 12, 4));
  p.ip_dst = static_cast<uint32_t>(number(fixed, 16, 4));
  read_upper_layer(p, rest, offset + header_bytes, fragment_offset != 0, 1);
}

void read_ipv6(ParsedPacket& p, const Input& frame, size_t offset) {
  Input peeked = frame;
  const Bytes fixed = peeked.take(40);
  expect(fixed.at(0) / 16 == 6);
  const uint64_t payload = number(fixed, 4, 2);
  Input rest = frame.limited_to(40 + payload);
  rest.take(40);
  p.ipv6_src = {number(fixed, 8, 8), number(fixed, 16, 8)};
  p.ipv6_dst = {number(fixed, 24, 8), number(fixed, 32, 8)};
  const Bytes mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
  for (size_t at : {8, 24})
    expect(Bytes(fixed.begin() + static_cast<ptrdiff_t>(at), fixed.begin() + static_cast<ptrdiff_t>(at + 12)) !=
           mapped_prefix);
  int next = fixed.at(6);
  int headers = 0;
  size_t before_fragment_header = 0;
  bool later_fragment = false;
  const std::set<int> extensions{0, 43, 44, 51, 60};
  for (; extensions.contains(next) && !later_fragment; ++headers) {
    expect(headers < 8);
    expect(next != 0 || headers == 0);
    const size_t consumed = payload - rest.left();
    Input header_ahead = rest;
    const Bytes first = header_ahead.take(8);
    if (next == 44) {
      expect(p.fragment_header_offset == 0);
      p.fragment_header_offset = static_cast<uint16_t>(offset + 40 + consumed);
      before_fragment_header = consumed;
      rest.take(8);
      const uint64_t word = number(first, 2, 2), fragment_offset = word / 8 * 8;
      const bool more = word % 2 == 1;
      expect(!more || (rest.left() > 0 && rest.left() % 8 == 0));
      expect(before_fragment_header + fragment_offset + rest.left() <= 65535);
      p.fragment = more || fragment_offset != 0;
      later_fragment = fragment_offset != 0;
    } else {
      const size_t bytes = next == 51 ? (size_t{first.at(1)} + 2) * 4 : (size_t{first.at(1)} + 1) * 8;
      expect(next != 51 || bytes >= 12);
      if (next == 51) p.authentication_header = true;
      if (next == 43 && first.at(3) != 0) p.segments_left = true;
      rest.take(bytes);
      expect(payload - rest.left() <= 2048);
    }
    next = first.at(0);
  }
  p.ip_proto = static_cast<uint8_t>(next);
  read_upper_layer(p, rest, offset + 40 + payload - rest.left(), later_fragment, 58);
}

}  // namespace

ParsedPacket reference_parse(std::span<const uint8_t> bytes) {
  ParsedPacket p{};
  ParsedPacket malformed{};
  try {
    expect(bytes.size() <= 65535);
    Input frame(Bytes(bytes.begin(), bytes.end()));
    frame.take(12);
    size_t offset = 14;
    uint64_t ether_type = number(frame.take(2), 0, 2);
    for (int tag = 0; tag < 2 && (ether_type == 0x8100 || ether_type == 0x88a8); ++tag) {
      frame.take(2);
      ether_type = number(frame.take(2), 0, 2);
      offset += 4;
    }
    p.l3_offset = malformed.l3_offset = static_cast<uint16_t>(offset);
    if (ether_type == 0x0800) {
      p.ip_version = malformed.ip_version = 4;
      read_ipv4(p, frame, offset);
    } else if (ether_type == 0x86dd) {
      p.ip_version = malformed.ip_version = 6;
      read_ipv6(p, frame, offset);
    } else {
      p.kind = PacketKind::kNonIp;
      p.l4_offset = p.payload_offset = p.l3_offset;
      p.payload_length = static_cast<uint16_t>(frame.left());
    }
  } catch (const Malformed&) {
    return malformed;
  }
  return p;
}

std::string difference(const ParsedPacket& a, const ParsedPacket& b) {
  std::string out;
  const auto compare = [&](const char* name, uint64_t of_a, uint64_t of_b) {
    if (of_a != of_b) out += std::string(name) + ' ' + std::to_string(of_a) + " or " + std::to_string(of_b) + "; ";
  };
  compare("kind", static_cast<uint64_t>(a.kind), static_cast<uint64_t>(b.kind));
  compare("ip_version", a.ip_version, b.ip_version);
  compare("l3_offset", a.l3_offset, b.l3_offset);
  if (!out.empty() || a.kind == PacketKind::kMalformed) return out;
  compare("fragment", a.fragment, b.fragment);
  compare("ip_proto", a.ip_proto, b.ip_proto);
  compare("l4_offset", a.l4_offset, b.l4_offset);
  compare("payload_offset", a.payload_offset, b.payload_offset);
  compare("payload_length", a.payload_length, b.payload_length);
  compare("ip_src", a.ip_src, b.ip_src);
  compare("ip_dst", a.ip_dst, b.ip_dst);
  compare("src_port", a.src_port, b.src_port);
  compare("dst_port", a.dst_port, b.dst_port);
  compare("fragment_header_offset", a.fragment_header_offset, b.fragment_header_offset);
  compare("authentication_header", a.authentication_header, b.authentication_header);
  compare("segments_left", a.segments_left, b.segments_left);
  if (a.ip_version != 6) return out;
  compare("ipv6_src.high", a.ipv6_src.high, b.ipv6_src.high);
  compare("ipv6_src.low", a.ipv6_src.low, b.ipv6_src.low);
  compare("ipv6_dst.high", a.ipv6_dst.high, b.ipv6_dst.high);
  compare("ipv6_dst.low", a.ipv6_dst.low, b.ipv6_dst.low);
  return out;
}

}  // namespace orrery::testing
