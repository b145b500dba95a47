// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "nfs/nf_core.h"
#include "support/checksum.h"
#include "support/flow_tuple.h"

namespace orrery::traffic_normalizer {

// All of a datagram of IPv4, and of one of IPv6 all but its addresses.
struct DatagramKeyHead {
  uint32_t src = 0;  // of IPv4
  uint32_t dst = 0;
  uint32_t identification = 0;
  uint32_t vlans = 0;  // VLAN identifiers, the outer one in the upper half; 0: without, or a tag of priority alone
  uint8_t proto = 0;   // of IPv4
  uint8_t ip_version = 4;
  uint16_t zero[3] = {};  // no padding: a table hashes the bytes

  bool operator==(const DatagramKeyHead&) const = default;
};
static_assert(sizeof(DatagramKeyHead) == 24);

// What fragments of one datagram have in common (RFC 791 3.2, RFC 8200 4.5), and the VLANs that they are in: no
// receiver puts fragments of different VLANs together, and one must not be able to spoil the datagrams of another. In a
// FlowTable the addresses of IPv6 are the rare part.
struct DatagramKey : DatagramKeyHead {
  using Common = DatagramKeyHead;
  using Rare = Ipv6Ends;

  Ipv6Ends ipv6;  // of IPv6; of IPv4 it may be anything

  // Precondition: a fragment that is not malformed.
  static DatagramKey of(const NfPacket& packet) {
    const ParsedPacket& p = packet.parsed;
    DatagramKey key{};
    key.vlans = vlans_of(packet);
    key.ip_version = p.ip_version;
    if (p.ip_version == 4) {
      key.src = p.ip_src;
      key.dst = p.ip_dst;
      key.proto = p.ip_proto;
      key.identification = load_be16(packet.data + p.l3_offset + 4);
    } else {
      key.ipv6 = {p.ipv6_src, p.ipv6_dst};
      key.identification = load_be32(packet.data + p.fragment_header_offset + 4);
    }
    return key;
  }

  static bool has_rare(const Common& common) { return common.ip_version == 6; }
  const Common& common() const { return *this; }
  const Rare& rare() const { return ipv6; }
  static DatagramKey joined(const Common& common, const Rare& rare) { return {common, rare}; }

 private:
  // Tags lie between the addresses and the EtherType that says IP.
  static uint32_t vlans_of(const NfPacket& packet) {
    constexpr size_t kFirstTag = 12, kTagBytes = 4;
    uint32_t vlans = 0;
    for (size_t at = kFirstTag; at + kTagBytes < packet.parsed.l3_offset; at += kTagBytes)
      vlans = vlans << 16 | (load_be16(packet.data + at + 2) & 0xfffu);
    return vlans;
  }
};

}  // namespace orrery::traffic_normalizer
