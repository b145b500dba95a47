// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "support/packet.h"

namespace orrery {

// All of an IPv4 flow, and of an IPv6 flow all but its addresses.
struct FlowTupleHead {
  uint32_t src = 0;  // of IPv4
  uint32_t dst = 0;
  uint16_t src_port = 0;
  uint16_t dst_port = 0;
  uint8_t proto = 0;
  uint8_t ip_version = 4;
  uint16_t zero = 0;  // no padding: a table hashes the bytes

  bool operator==(const FlowTupleHead& other) const {
    using Words = std::array<uint64_t, 2>;
    return std::bit_cast<Words>(*this) == std::bit_cast<Words>(other);
  }
};
static_assert(sizeof(FlowTupleHead) == 16);

struct Ipv6Ends {
  Ipv6Address src;
  Ipv6Address dst;

  bool operator==(const Ipv6Ends&) const = default;
};

// Directed 5-tuple; ports are 0 where the packet has none. In a FlowTable the addresses of IPv6 are its rare part.
struct FlowTuple : FlowTupleHead {
  using Common = FlowTupleHead;
  using Rare = Ipv6Ends;

  Ipv6Ends ipv6;  // of IPv6; of IPv4 it may be anything

  // Fills in the flow of a packet: where it already lies, because a flow of IPv4 is a third of its bytes.
  void set(const ParsedPacket& p) {
    head() = {p.ip_src, p.ip_dst, p.src_port, p.dst_port, p.ip_proto};
    if (p.has_ipv6()) set_ipv6(p.ipv6_src, p.ipv6_dst);
  }
  // As the other direction names it.
  void set_turned(const ParsedPacket& p) {
    head() = {p.ip_dst, p.ip_src, p.dst_port, p.src_port, p.ip_proto};
    if (p.has_ipv6()) set_ipv6(p.ipv6_dst, p.ipv6_src);
  }
  static FlowTuple of(const ParsedPacket& p) {
    FlowTuple flow{};
    flow.set(p);
    return flow;
  }

  // Of either version.
  Ipv6Address source() const { return ip_version == 6 ? ipv6.src : ipv4_mapped(src); }
  Ipv6Address destination() const { return ip_version == 6 ? ipv6.dst : ipv4_mapped(dst); }
  // Precondition: both are of one version.
  void set_ends(const Ipv6Address& source, const Ipv6Address& destination) {
    if (!is_ipv4_mapped(source)) return set_ipv6(source, destination);
    src = static_cast<uint32_t>(source.low);
    dst = static_cast<uint32_t>(destination.low);
  }

  static bool has_rare(const Common& common) { return common.ip_version == 6; }
  const Common& common() const { return *this; }
  const Rare& rare() const { return ipv6; }
  static FlowTuple joined(const Common& common, const Rare& rare) { return {common, rare}; }

  bool operator==(const FlowTuple& other) const {
    return common() == other.common() && (ip_version != 6 || ipv6 == other.ipv6);
  }

 private:
  FlowTupleHead& head() { return *this; }
  void set_ipv6(const Ipv6Address& source, const Ipv6Address& destination) {
    ip_version = 6;
    ipv6 = {source, destination};
  }
};

}  // namespace orrery
