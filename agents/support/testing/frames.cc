// SPDX-License-Identifier: Apache-2.0
#include "support/testing/frames.h"

#include <algorithm>

#include "support/checksum.h"
#include "support/packet.h"

namespace orrery::testing {
namespace {

void append16(Frame& frame, uint16_t v) {
  frame.push_back(static_cast<uint8_t>(v >> 8));
  frame.push_back(static_cast<uint8_t>(v));
}

void append_ethernet(Frame& frame, uint16_t ether_type, bool vlan) {
  for (uint8_t b : {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1}) frame.push_back(b);
  if (vlan) {
    append16(frame, 0x8100);
    append16(frame, 0x2064);
  }
  append16(frame, ether_type);
}

size_t transport_bytes(uint8_t proto) {
  switch (proto) {
    case kTcp:
      return 20;
    case kUdp:
    case kIcmp:
      return 8;
    default:
      return 0;
  }
}

// The TCP, UDP or ICMP checksum of an unfragmented packet; 0 when it is right.
uint16_t transport_sum(uint32_t src, uint32_t dst, uint8_t proto, std::span<const uint8_t> l4) {
  uint64_t sum = checksum_sum(l4);
  if (proto != kIcmp) sum += pseudo_header_sum(src, dst, proto, static_cast<uint16_t>(l4.size()));
  return static_cast<uint16_t>(~checksum_fold(sum));
}

uint64_t below(Rng& rng, uint64_t n) {
  return rng() % n;
}

Frame random_bytes(Rng& rng, size_t size) {
  Frame frame(size);
  for (uint8_t& b : frame) b = static_cast<uint8_t>(rng());
  return frame;
}

}  // namespace

Frame build_frame(const FrameSpec& spec) {
  Frame frame;
  append_ethernet(frame, 0x0800, spec.vlan);
  const size_t l3 = frame.size();
  const size_t ip_header = 20 + size_t{spec.ip_option_words} * 4;
  const size_t l4_header = spec.fragment_offset == 0 ? transport_bytes(spec.proto) : 0;
  frame.resize(l3 + ip_header + l4_header);
  frame.insert(frame.end(), spec.payload.begin(), spec.payload.end());
  uint8_t* ip = &frame[l3];
  const size_t ip_length = frame.size() - l3;
  ip[0] = static_cast<uint8_t>(0x40 | ip_header / 4);
  store_be16(ip + 2, static_cast<uint16_t>(ip_length));
  store_be16(ip + 4, 0x1d0f);
  store_be16(ip + 6, static_cast<uint16_t>(spec.fragment_offset | (spec.more_fragments ? 0x2000 : 0)));
  ip[8] = 64;
  ip[9] = spec.proto;
  store_be32(ip + 12, spec.src);
  store_be32(ip + 16, spec.dst);
  for (size_t i = 20; i < ip_header; ++i) ip[i] = 1;  // no operation
  store_be16(ip + 10, checksum({ip, ip_header}));

  uint8_t* l4 = ip + ip_header;
  const std::span<uint8_t> segment(l4, ip_length - ip_header);
  if (l4_header != 0) {
    if (spec.proto == kIcmp) {
      l4[0] = spec.icmp_type;
      store_be16(l4 + 4, spec.src_port);
      store_be16(l4 + 6, 1);
      store_be16(l4 + 2, transport_sum(spec.src, spec.dst, kIcmp, segment));
    } else {
      store_be16(l4, spec.src_port);
      store_be16(l4 + 2, spec.dst_port);
    }
    if (spec.proto == kTcp) {
      l4[12] = 0x50;
      l4[13] = 0x18;
      store_be16(l4 + 16, transport_sum(spec.src, spec.dst, kTcp, segment));
    }
    if (spec.proto == kUdp) {
      store_be16(l4 + 4, static_cast<uint16_t>(segment.size()));
      const uint16_t sum = transport_sum(spec.src, spec.dst, kUdp, segment);
      if (spec.udp_checksum) store_be16(l4 + 6, sum == 0 ? 0xffff : sum);
    }
  }
  frame.resize(frame.size() + spec.padding);
  return frame;
}

FrameSpec random_spec(Rng& rng) {
  static constexpr uint8_t kProtos[] = {kTcp, kTcp, kTcp, kUdp, kUdp, kIcmp};
  FrameSpec spec;
  spec.src = 0x0a000000 | static_cast<uint32_t>(below(rng, 64) << 8 | below(rng, 8));
  spec.dst = 0xc0a80000 | static_cast<uint32_t>(below(rng, 64) << 4);
  spec.src_port = static_cast<uint16_t>(below(rng, 4) == 0 ? rng() : 1024 + below(rng, 8));
  spec.dst_port = static_cast<uint16_t>(below(rng, 4) == 0 ? rng() : 78 + below(rng, 6));
  spec.proto = kProtos[below(rng, std::size(kProtos))];
  const Frame payload = random_bytes(rng, below(rng, 5) == 0 ? below(rng, 1400) : below(rng, 40));
  spec.payload.assign(payload.begin(), payload.end());
  spec.vlan = below(rng, 6) == 0;
  spec.ip_option_words = static_cast<uint8_t>(below(rng, 6) == 0 ? below(rng, 11) : 0);
  spec.udp_checksum = below(rng, 5) != 0;
  spec.padding = static_cast<uint16_t>(below(rng, 6) == 0 ? below(rng, 20) : 0);
  return spec;
}

Frame build_icmp_error(uint32_t router, uint8_t type, const Frame& quoted, size_t quoted_bytes) {
  const ParsedPacket p = parse_packet(quoted);
  const size_t size = std::min<size_t>(p.l4_offset - p.l3_offset + quoted_bytes, quoted.size() - p.l3_offset);
  FrameSpec spec;
  spec.src = router;
  spec.dst = p.ip_src;
  spec.proto = kIcmp;
  spec.icmp_type = type;
  spec.src_port = 0;
  spec.payload.assign(quoted.begin() + p.l3_offset, quoted.begin() + p.l3_offset + static_cast<ptrdiff_t>(size));
  return build_frame(spec);
}

bool checksums_hold(const Frame& frame) {
  const ParsedPacket p = parse_packet(frame);
  if (p.kind == PacketKind::kNonIp) return true;
  const uint8_t* ip = &frame[p.l3_offset];
  if (checksum({ip, static_cast<size_t>(p.l4_offset - p.l3_offset)}) != 0) return false;
  if (p.kind != PacketKind::kIpTransport || p.fragment) return true;
  const size_t header = static_cast<size_t>(p.payload_offset - p.l4_offset);
  const std::span<const uint8_t> segment(&frame[p.l4_offset], header + p.payload_length);
  const bool absent = p.ip_proto == kUdp && load_be16(&segment[6]) == 0;
  if (!absent && transport_sum(p.ip_src, p.ip_dst, p.ip_proto, segment) != 0) return false;
  const bool is_error = p.ip_proto == kIcmp && (segment[0] == 3 || segment[0] == 11);
  if (!is_error) return true;

  const std::span<const uint8_t> inner = segment.subspan(8);
  const size_t inner_header = size_t{inner[0] & 0x0fu} * 4;
  if (checksum(inner.first(inner_header)) != 0) return false;
  const std::span<const uint8_t> inner_l4 = inner.subspan(inner_header);
  if (inner_l4.size() + inner_header != load_be16(&inner[2])) return true;  // cut: its checksum cannot be computed
  if (inner[9] == kUdp && load_be16(&inner_l4[6]) == 0) return true;
  return transport_sum(load_be32(&inner[12]), load_be32(&inner[16]), inner[9], inner_l4) == 0;
}

Frame arp_frame() {
  Frame frame;
  append_ethernet(frame, 0x0806, false);
  frame.resize(60);
  return frame;
}

std::vector<Frame> malformed_corpus(Rng& rng) {
  std::vector<Frame> valid;
  for (uint8_t proto : {kTcp, kUdp, kIcmp, kGre}) {
    FrameSpec spec;
    spec.proto = proto;
    spec.payload = "../../etc/passwd and some more";
    valid.push_back(build_frame(spec));
    spec.vlan = true;
    spec.ip_option_words = 3;
    valid.push_back(build_frame(spec));
  }
  const size_t plain = valid.size();
  for (size_t i = 0; i < plain; ++i) {
    valid.push_back(build_icmp_error(0x01010101, 3, valid[i], 64));
    valid.push_back(build_icmp_error(0x01010101, 11, valid[i], 8));
  }
  valid.push_back(arp_frame());

  std::vector<Frame> corpus = valid;
  for (const Frame& frame : valid)
    for (size_t n = 0; n < frame.size(); ++n)
      corpus.emplace_back(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(n));

  const auto with = [&](const Frame& frame, size_t at, uint8_t value) {
    Frame changed = frame;
    if (at < changed.size()) changed[at] = value;
    corpus.push_back(std::move(changed));
  };
  for (const Frame& frame : valid) {
    const ParsedPacket p = parse_packet(frame);
    for (unsigned v = 0; v < 256; ++v) {
      const auto value = static_cast<uint8_t>(v);
      with(frame, p.l3_offset, value);       // version and header length
      with(frame, p.l3_offset + 2u, value);  // total length
      with(frame, p.l3_offset + 3u, value);
      with(frame, p.l3_offset + 6u, value);  // flags and fragment offset
      with(frame, p.l3_offset + 9u, value);  // protocol
      with(frame, p.l4_offset, value);       // ICMP type
      with(frame, p.l4_offset + 4u, value);  // UDP length
      with(frame, p.l4_offset + 5u, value);
      with(frame, p.l4_offset + 12u, value);      // TCP data offset
      with(frame, p.payload_offset, value);       // version and header length of what an ICMP error quotes
      with(frame, p.payload_offset + 9u, value);  // and its protocol
    }
  }

  // Fragments that overlap (teardrop), that end beyond 64 KiB (ping of death), and tiny first ones (RFC 3128).
  for (uint8_t proto : {kTcp, kUdp, kIcmp}) {
    FrameSpec spec;
    spec.proto = proto;
    spec.payload.assign(40, 'x');
    spec.more_fragments = true;
    corpus.push_back(build_frame(spec));
    spec.more_fragments = false;
    for (uint16_t offset : {1, 2, 3, 5, 0x1ffe, 0x1fff}) {
      spec.fragment_offset = offset;
      corpus.push_back(build_frame(spec));
    }
    FrameSpec tiny;
    tiny.proto = kGre;
    tiny.payload.assign(8, 'y');
    tiny.more_fragments = true;
    Frame frame = build_frame(tiny);
    frame[14 + 9] = proto;
    corpus.push_back(frame);
  }

  for (int i = 0; i < 2000; ++i) {
    Frame frame = random_bytes(rng, below(rng, i % 10 == 0 ? 1515 : 80));
    if (i % 2 == 0 && frame.size() >= 15) {
      frame[12] = 0x08;
      frame[13] = 0x00;
      frame[14] = static_cast<uint8_t>(0x40 | (frame[14] & 0x0f));
    }
    corpus.push_back(std::move(frame));
  }
  for (int i = 0; i < 2000; ++i) {
    Frame frame = valid[below(rng, valid.size())];
    for (uint64_t n = 1 + below(rng, 4); n > 0; --n) frame[below(rng, frame.size())] = static_cast<uint8_t>(rng());
    corpus.push_back(std::move(frame));
  }
  return corpus;
}

}  // namespace orrery::testing
