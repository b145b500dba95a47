// SPDX-License-Identifier: Apache-2.0
// Configurations of a load balancer, its clients and back ends, for tests.
#pragma once

#include <vector>

#include "nfs/ip_prefix.h"
#include "nfs/testing/nf_driver.h"
#include "nfs/testing/tcp_frames.h"
#include "support/checksum.h"

namespace orrery::load_balancer {

using namespace orrery::testing;
using nlohmann::json;

inline constexpr uint32_t kVirtual = 0xcb007101;   // 203.0.113.1
inline constexpr uint32_t kBackends = 0x0a010000;  // 10.1.0.0 and up
inline constexpr uint32_t kExternal = 0xc6120001;  // 198.18.0.1
inline constexpr uint64_t kSecond = 1'000'000'000;

inline std::string text(uint32_t address, uint8_t version) {
  return version == 6 ? address_text(ipv6_of(address)) : address_text(address);
}

inline json backend(uint32_t n, uint8_t version = 4, const json& more = json::object()) {
  json out = {{"address", text(kBackends + n, version)}};
  out.update(more);
  return out;
}

inline json config(uint32_t backends = 4, uint8_t version = 4, const json& changes = json::object()) {
  json c = {{"virtual_address", text(kVirtual, version)},
            {"external_addresses", {text(kExternal, version), text(kExternal + 1, version)}},
            {"backends", json::array()}};
  for (uint32_t n = 0; n < backends; ++n) c["backends"].push_back(backend(n, version));
  c.update(changes);
  return c;
}

// A packet of a client to the virtual address.
inline FrameSpec request(uint16_t port, uint8_t version = 4, uint32_t client = 0x0a000001) {
  FrameSpec spec;
  spec.ip_version = version;
  spec.src = client;
  spec.dst = kVirtual;
  spec.src_port = port;
  return spec;
}

inline FrameSpec random_request(Rng& rng) {
  FrameSpec spec = rng() % 2 == 0 ? random_spec(rng) : random_ipv6_spec(rng);
  spec.dst = kVirtual;
  return spec;
}

inline bool is_query(const FrameSpec& spec) {
  return spec.proto == kIcmp || spec.proto == kIcmpv6;
}

// The ends of a frame, in the terms of a specification.
struct Ends {
  uint32_t src, dst;
  uint16_t src_port, dst_port;
};
inline Ends ends_of(const Frame& frame) {
  const ParsedPacket p = parse_packet(frame);
  const bool query = p.ip_proto == kIcmp || p.ip_proto == kIcmpv6;
  const uint16_t id = query ? load_be16(&frame[p.l4_offset + 4u]) : uint16_t{0};
  const bool v6 = p.ip_version == 6;
  return {v6 ? static_cast<uint32_t>(p.ipv6_src.low) : p.ip_src, v6 ? static_cast<uint32_t>(p.ipv6_dst.low) : p.ip_dst,
          query ? id : p.src_port, query ? id : p.dst_port};
}

inline FrameSpec with_ends(FrameSpec spec, const Ends& ends) {
  spec.src = ends.src;
  spec.dst = ends.dst;
  spec.src_port = ends.src_port;
  spec.dst_port = ends.dst_port;
  return spec;
}

inline FrameSpec answer_to(FrameSpec spec) {
  if (!is_query(spec)) return reply_of(spec);
  std::swap(spec.src, spec.dst);
  spec.icmp_type = spec.proto == kIcmp ? 0 : 129;
  return spec;
}

inline uint32_t backend_of(const Outcome& outcome) {
  return ends_of(outcome.frame).dst - kBackends;
}

// Back ends that new connections get, by source port.
inline std::vector<uint32_t> choices(NfCore& nf, uint16_t first = 1024, uint16_t count = 3000) {
  std::vector<uint32_t> out;
  for (uint16_t n = 0; n < count; ++n) {
    const Outcome o = run_one(nf, tcp_frame(request(static_cast<uint16_t>(first + n)), kTcpSyn));
    EXPECT_EQ(o.reason, "");
    out.push_back(backend_of(o));
  }
  return out;
}

// What a back end says in the connection of a request that reached it.
inline FrameSpec reply_to(const FrameSpec& request, const Outcome& sent) {
  return reply_of(with_ends(request, ends_of(sent.frame)));
}

}  // namespace orrery::load_balancer
