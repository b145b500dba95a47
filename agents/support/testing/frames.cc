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

void append_ethernet(Frame& frame, uint16_t ether_type, bool service_vlan = false, bool vlan = false) {
  for (uint8_t b : {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1}) frame.push_back(b);
  if (service_vlan) {
    append16(frame, 0x88a8);
    append16(frame, 0x0007);
  }
  if (vlan) {
    append16(frame, 0x8100);
    append16(frame, 0x2064);
  }
  append16(frame, ether_type);
}

bool is_icmp(uint8_t proto) {
  return proto == kIcmp || proto == kIcmpv6;
}

size_t transport_bytes(uint8_t proto) {
  switch (proto) {
    case kTcp:
      return 20;
    case kUdp:
    case kIcmp:
    case kIcmpv6:
      return 8;
    default:
      return 0;
  }
}

// The TCP, UDP or ICMP checksum of an unfragmented packet over IPv4; 0 when it is right.
uint16_t transport_sum(uint32_t src, uint32_t dst, uint8_t proto, std::span<const uint8_t> l4) {
  uint64_t sum = checksum_sum(l4);
  if (proto != kIcmp) sum += pseudo_header_sum(src, dst, proto, static_cast<uint16_t>(l4.size()));
  return static_cast<uint16_t>(~checksum_fold(sum));
}

// The same of a packet of either version, whose IP header begins at `ip`.
uint16_t transport_sum(const uint8_t* ip, uint8_t proto, std::span<const uint8_t> l4) {
  if (ip[0] >> 4 == 4) return transport_sum(load_be32(ip + 12), load_be32(ip + 16), proto, l4);
  const std::span<const uint8_t, 32> addresses(ip + 8, 32);
  const uint64_t sum = checksum_sum(l4) + pseudo_header_sum(addresses, proto, static_cast<uint16_t>(l4.size()));
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

namespace {

bool is_fragment(const FrameSpec& spec) {
  return spec.fragment_offset != 0 || spec.more_fragments;
}

void append_ipv4(Frame& frame, const FrameSpec& spec) {
  const size_t l3 = frame.size();
  const size_t header = 20 + size_t{spec.ip_option_words} * 4;
  frame.resize(l3 + header);
  uint8_t* ip = &frame[l3];
  ip[0] = static_cast<uint8_t>(0x40 | header / 4);
  store_be16(ip + 4, 0x1d0f);
  store_be16(ip + 6, static_cast<uint16_t>(spec.fragment_offset | (spec.more_fragments ? 0x2000 : 0)));
  ip[8] = 64;
  ip[9] = spec.proto;
  store_be32(ip + 12, spec.src);
  store_be32(ip + 16, spec.dst);
  for (size_t i = 20; i < header; ++i) ip[i] = 1;  // no operation
}

// With PadN options (RFC 8200 4.2) in headers that have options.
void append_extension(Frame& frame, const FrameSpec& spec, const ExtensionHeader& extension, uint8_t next) {
  const size_t at = frame.size();
  frame.resize(at + size_t{extension.units} * 8);
  uint8_t* header = &frame[at];
  header[0] = next;
  switch (extension.type) {
    case kFragmentHeader:
      store_be16(header + 2, static_cast<uint16_t>(spec.fragment_offset << 3 | (spec.more_fragments ? 1 : 0)));
      store_be32(header + 4, 0x1d0f1d0f);
      break;
    case kAuthentication:
      header[1] = static_cast<uint8_t>(extension.units * 2 - 2);
      break;
    case kRouting:
      header[1] = static_cast<uint8_t>(extension.units - 1);
      header[2] = 4;  // segment routing
      header[3] = extension.segments_left;
      break;
    default:
      header[1] = static_cast<uint8_t>(extension.units - 1);
      for (size_t left = size_t{extension.units} * 8 - 2, option = 2; left > 0;) {
        const size_t bytes = std::min<size_t>(left, 257);
        header[option] = bytes == 1 ? 0 : 1;
        if (bytes > 1) header[option + 1] = static_cast<uint8_t>(bytes - 2);
        option += bytes;
        left -= bytes;
      }
  }
}

void append_ipv6(Frame& frame, const FrameSpec& spec) {
  std::vector<ExtensionHeader> extensions = spec.extensions;
  const bool has_fragment_header =
      std::ranges::find(extensions, kFragmentHeader, &ExtensionHeader::type) != extensions.end();
  if (is_fragment(spec) && !has_fragment_header) extensions.push_back({kFragmentHeader});
  const auto type_at = [&](size_t i) { return i < extensions.size() ? extensions[i].type : spec.proto; };
  const size_t l3 = frame.size();
  frame.resize(l3 + 40);
  uint8_t* ip = &frame[l3];
  ip[0] = 0x60;
  ip[6] = type_at(0);
  ip[7] = 64;
  const Ipv6Address src = ipv6_of(spec.src), dst = ipv6_of(spec.dst);
  store_be64(ip + 8, src.high);
  store_be64(ip + 16, src.low);
  store_be64(ip + 24, dst.high);
  store_be64(ip + 32, dst.low);
  for (size_t i = 0; i < extensions.size(); ++i) append_extension(frame, spec, extensions[i], type_at(i + 1));
}

void write_transport_header(const FrameSpec& spec, const uint8_t* ip, std::span<uint8_t> segment) {
  uint8_t* l4 = segment.data();
  if (is_icmp(spec.proto)) {
    l4[0] = spec.icmp_type;
    store_be16(l4 + 4, spec.src_port);
    store_be16(l4 + 6, 1);
    store_be16(l4 + 2, transport_sum(ip, spec.proto, segment));
    return;
  }
  store_be16(l4, spec.src_port);
  store_be16(l4 + 2, spec.dst_port);
  if (spec.proto == kTcp) {
    l4[12] = 0x50;
    l4[13] = 0x18;
    store_be16(l4 + 16, transport_sum(ip, kTcp, segment));
  }
  if (spec.proto == kUdp) {
    store_be16(l4 + 4, static_cast<uint16_t>(segment.size()));
    const uint16_t sum = transport_sum(ip, kUdp, segment);
    if (spec.udp_checksum) store_be16(l4 + 6, sum == 0 ? 0xffff : sum);
  }
}

}  // namespace

Frame build_frame(const FrameSpec& spec) {
  Frame frame;
  append_ethernet(frame, spec.ip_version == 6 ? 0x86dd : 0x0800, spec.service_vlan, spec.vlan);
  const size_t l3 = frame.size();
  if (spec.ip_version == 6) {
    append_ipv6(frame, spec);
  } else {
    append_ipv4(frame, spec);
  }
  const size_t l4 = frame.size();
  const size_t l4_header = spec.fragment_offset == 0 ? transport_bytes(spec.proto) : 0;
  frame.resize(l4 + l4_header);
  frame.insert(frame.end(), spec.payload.begin(), spec.payload.end());
  uint8_t* ip = &frame[l3];
  const size_t ip_length = frame.size() - l3;
  if (spec.ip_version == 6) {
    store_be16(ip + 4, static_cast<uint16_t>(ip_length - 40));
  } else {
    store_be16(ip + 2, static_cast<uint16_t>(ip_length));
    store_be16(ip + 10, checksum({ip, l4 - l3}));
  }
  if (l4_header != 0) write_transport_header(spec, ip, {&frame[l4], frame.size() - l4});
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

FrameSpec over_ipv6(FrameSpec spec) {
  spec.ip_version = 6;
  if (spec.ip_option_words != 0) spec.extensions.push_back({kDestinationOptions, spec.ip_option_words});
  spec.ip_option_words = 0;
  if (spec.proto == kIcmp) {
    spec.proto = kIcmpv6;
    spec.icmp_type = spec.icmp_type == 0 ? 129 : 128;
  }
  return spec;
}

FrameSpec random_ipv6_spec(Rng& rng) {
  FrameSpec spec = over_ipv6(random_spec(rng));
  spec.service_vlan = below(rng, 6) == 0;
  const auto maybe_add = [&](uint8_t type, uint64_t one_in, uint64_t most_units, uint8_t least_units = 1) {
    if (below(rng, one_in) == 0)
      spec.extensions.push_back({type, static_cast<uint8_t>(least_units + below(rng, most_units))});
  };
  maybe_add(kHopByHop, 5, 3);
  std::ranges::rotate(spec.extensions, spec.extensions.end() - (spec.extensions.empty() ? 0 : 1));
  maybe_add(kRouting, 6, 5);
  maybe_add(kFragmentHeader, 8, 1);  // atomic
  maybe_add(kAuthentication, 8, 3, 2);
  maybe_add(kDestinationOptions, 6, 40);
  return spec;
}

Frame build_icmp_error(uint32_t router, uint8_t type, const Frame& quoted, size_t quoted_bytes) {
  const ParsedPacket p = parse_packet(quoted);
  const size_t size = std::min<size_t>(p.l4_offset - p.l3_offset + quoted_bytes, quoted.size() - p.l3_offset);
  FrameSpec spec;
  spec.ip_version = p.ip_version;
  spec.src = router;
  spec.dst = p.ip_version == 6 ? static_cast<uint32_t>(p.ipv6_src.low) : p.ip_src;
  spec.proto = p.ip_version == 6 ? kIcmpv6 : kIcmp;
  spec.icmp_type = type;
  spec.src_port = 0;
  spec.payload.assign(quoted.begin() + p.l3_offset, quoted.begin() + p.l3_offset + static_cast<ptrdiff_t>(size));
  return build_frame(spec);
}

bool checksums_hold(const Frame& frame) {
  const ParsedPacket p = parse_packet(frame);
  if (p.kind == PacketKind::kNonIp) return true;
  const uint8_t* ip = &frame[p.l3_offset];
  if (p.ip_version == 4 && checksum({ip, static_cast<size_t>(p.l4_offset - p.l3_offset)}) != 0) return false;
  if (p.kind != PacketKind::kIpTransport || p.fragment) return true;
  const size_t header = static_cast<size_t>(p.payload_offset - p.l4_offset);
  const std::span<const uint8_t> segment(&frame[p.l4_offset], header + p.payload_length);
  const bool absent = p.ip_proto == kUdp && load_be16(&segment[6]) == 0;
  if (!absent && transport_sum(ip, p.ip_proto, segment) != 0) return false;
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
  append_ethernet(frame, 0x0806);
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

std::vector<Frame> malformed_ipv6_corpus(Rng& rng) {
  const std::vector<std::vector<ExtensionHeader>> chains = {
      {},
      {{kHopByHop},
       {kDestinationOptions, 2},
       {kRouting, 3},
       {kFragmentHeader},
       {kAuthentication, 3},
       {kDestinationOptions}},
      {{kDestinationOptions}, {kHopByHop}},
      {{kFragmentHeader}, {kFragmentHeader}},
      std::vector<ExtensionHeader>(kMaxExtensionHeaders, {kDestinationOptions}),
      std::vector<ExtensionHeader>(kMaxExtensionHeaders + 1, {kDestinationOptions}),
      {{kDestinationOptions, 255}, {kRouting, 1}},
      {{kDestinationOptions, 255}, {kRouting, 2}},
      {{kEsp, 3}},
  };
  std::vector<Frame> valid;
  for (size_t i = 0; i < chains.size(); ++i) {
    for (uint8_t proto : {kTcp, kUdp, kIcmpv6, kGre, kNoNextHeader, kIcmp}) {
      FrameSpec spec;
      spec.ip_version = 6;
      spec.proto = proto;
      spec.icmp_type = 128;
      spec.payload = "../../etc/passwd and some more bytes";
      spec.extensions = chains[i];
      spec.vlan = i % 2 == 0 || proto == kUdp;
      spec.service_vlan = i % 3 == 0;
      valid.push_back(build_frame(spec));
      if (!chains[i].empty()) continue;
      spec.more_fragments = true;
      spec.payload.resize(64, 'x');
      valid.push_back(build_frame(spec));
      spec.payload.pop_back();
      valid.push_back(build_frame(spec));
      spec.more_fragments = false;
      for (uint16_t offset : {1, 2, 3, 5, 0x1ff6, 0x1ff7, 0x1ff8, 0x1fff}) {
        spec.fragment_offset = offset;
        valid.push_back(build_frame(spec));
      }
    }
  }
  for (uint8_t type : {1, 2, 3, 4}) valid.push_back(build_icmp_error(0x01010101, type, valid[0], 40));
  FrameSpec tagged;
  tagged.vlan = tagged.service_vlan = true;
  valid.push_back(build_frame(tagged));
  Frame three_tags = valid.back();
  three_tags.insert(three_tags.begin() + 12, {0x81, 0x00, 0, 1});
  valid.push_back(three_tags);

  std::vector<Frame> corpus = valid;
  for (const Frame& frame : valid) {
    if (frame.size() > 400) continue;
    for (size_t n = 0; n < frame.size(); ++n)
      corpus.emplace_back(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(n));
  }
  const auto with = [&](const Frame& frame, size_t at, uint8_t value) {
    Frame changed = frame;
    if (at < changed.size()) changed[at] = value;
    corpus.push_back(std::move(changed));
  };
  for (size_t i = 0; i < valid.size(); i += 11) {
    const size_t l3 = parse_packet(valid[i]).l3_offset;
    for (unsigned v = 0; v < 256; ++v) {
      const auto value = static_cast<uint8_t>(v);
      with(valid[i], l3, value);
      for (size_t at : {4, 5, 6, 40, 41, 42, 43, 44, 45, 48, 49, 52}) with(valid[i], l3 + at, value);
    }
  }
  for (int i = 0; i < 4000; ++i) {
    Frame frame = i % 3 == 0 ? random_bytes(rng, below(rng, 120)) : valid[below(rng, valid.size())];
    if (i % 3 == 0 && frame.size() > 20) {
      store_be16(&frame[12], 0x86dd);
      frame[14] = 0x60;
      store_be16(&frame[18], static_cast<uint16_t>(below(rng, frame.size())));
      static constexpr uint8_t kNext[] = {0, 43, 44, 51, 60, 6, 17, 58, 59, 50};
      frame[20] = kNext[below(rng, std::size(kNext))];
    } else if (!frame.empty()) {
      for (uint64_t n = 1 + below(rng, 4); n > 0; --n)
        frame[below(rng, std::min<size_t>(frame.size(), 120))] = static_cast<uint8_t>(rng());
    }
    corpus.push_back(std::move(frame));
  }
  return corpus;
}

}  // namespace orrery::testing
