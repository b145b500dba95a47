// SPDX-License-Identifier: Apache-2.0
#include "flows/frame_writer.h"

#include <cstring>

#include "flows/frame_layout.h"
#include "support/checksum.h"

namespace orrery::flows {
namespace {

constexpr uint8_t kHops = 64;
constexpr uint8_t kFin = 1, kSyn = 2, kPush = 8, kAck = 16;
// Nobody sent what is acknowledged.
constexpr uint32_t kAcknowledged = 1;

uint8_t flags_of(const DuePacket& packet) {
  if (packet.number == 0) return kSyn;
  return kAck | kPush | (packet.last ? kFin : 0);
}

}  // namespace

FrameWriter::FrameWriter(const FrameEnds& ends) : ends_(ends), address_bytes_(ends.is_ipv6 ? 16 : 4) {}

void FrameWriter::write(Buffer& buffer, const DuePacket& packet, const Mark& mark) const {
  uint8_t* at = buffer.data();
  std::memcpy(at, ends_.destination_mac.data(), 6);
  std::memcpy(at + 6, ends_.source_mac.data(), 6);
  store_be16(at + 12, ends_.is_ipv6 ? 0x86dd : 0x0800);
  uint8_t* ip = at + kEthernetBytes;
  uint8_t* l4 = ip + (ends_.is_ipv6 ? kIpv6Bytes : kIpv4Bytes);
  const uint8_t protocol = packet.tcp ? kTcp : kUdp;
  const auto l4_bytes = static_cast<uint16_t>(packet.frame_bytes - (l4 - at));
  uint8_t* addresses = ip + (ends_.is_ipv6 ? 8 : 12);
  std::memcpy(addresses, ends_.source.data(), address_bytes_);
  std::memcpy(addresses + address_bytes_, ends_.destination.data(), address_bytes_);
  if (ends_.is_ipv6) {
    store_be32(ip, 0x60000000);
    store_be16(ip + 4, l4_bytes);
    ip[6] = protocol;
    ip[7] = kHops;
  } else {
    store_be16(ip, 0x4500);
    store_be16(ip + 2, static_cast<uint16_t>(kIpv4Bytes + l4_bytes));
    store_be16(ip + 4, static_cast<uint16_t>(mark.sequence));
    store_be16(ip + 6, 0x4000);  // do not fragment
    ip[8] = kHops;
    ip[9] = protocol;
    store_be16(ip + 10, 0);
    store_be16(ip + 10, checksum({ip, kIpv4Bytes}));
  }
  store_be16(l4, packet.source_port);
  store_be16(l4 + 2, ends_.port);
  uint8_t* payload = l4 + (packet.tcp ? kTcpBytes : kUdpBytes);
  if (packet.tcp) {
    store_be32(l4 + 4, packet.tcp_sequence);
    store_be32(l4 + 8, packet.number == 0 ? 0 : kAcknowledged);
    store_be16(l4 + 12, static_cast<uint16_t>(0x5000 | flags_of(packet)));
    store_be16(l4 + 14, 0xffff);  // window
    store_be32(l4 + 16, 0);       // checksum, urgent pointer
  } else {
    store_be16(l4 + 4, l4_bytes);
    store_be16(l4 + 6, 0);
    // Where a TCP packet had the rest of its mark.
    std::memset(payload + Mark::kBytes, 0, kTcpBytes - kUdpBytes);
  }
  mark.store(payload);
  const uint64_t sum = checksum_sum({addresses, 2 * address_bytes_}) + protocol + l4_bytes +
                       checksum_sum({l4, static_cast<size_t>(payload - l4) + Mark::kBytes});
  const auto full = static_cast<uint16_t>(~checksum_fold(sum));
  // A UDP checksum of 0 says that there is none (RFC 768).
  store_be16(l4 + (packet.tcp ? 16 : 6), !packet.tcp && full == 0 ? 0xffff : full);
}

}  // namespace orrery::flows
