// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "support/checksum.h"
#include "support/hop_tag.h"

namespace orrery::bench {

constexpr uint32_t kUdpHeaders = kEthernetHeader + 20 + 8;

// Headers of a UDP packet from 198.18.0.0 + `flow` to 198.19.0.1 port 9 (RFC 2544 C.2.2, discard), on its way to hop 1.
// Precondition: room for kUdpHeaders.
inline void write_udp_headers(uint8_t* frame, uint16_t bytes, uint16_t flow) {
  std::fill_n(frame, kUdpHeaders, uint8_t{0});
  write_hop_tag(frame, {.hop = 1, .metadata = 0}, 0);
  store_be16(frame + 12, 0x0800);
  uint8_t* ip = frame + kEthernetHeader;
  ip[0] = 0x45;
  store_be16(ip + 2, static_cast<uint16_t>(bytes - kEthernetHeader));
  ip[8] = 64;
  ip[9] = 17;
  store_be32(ip + 12, 0xc6120000u + flow);
  store_be32(ip + 16, 0xc6130001u);
  store_be16(ip + 10, static_cast<uint16_t>(~checksum_fold(checksum_sum({ip, 20}))));
  uint8_t* udp = ip + 20;
  store_be16(udp, 1024);
  store_be16(udp + 2, 9);
  store_be16(udp + 4, static_cast<uint16_t>(bytes - kEthernetHeader - 20));
}

}  // namespace orrery::bench
