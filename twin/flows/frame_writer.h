// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "flows/flow_source.h"
#include "flows/mark.h"

namespace orrery::flows {

// Where the frames of a generator come from and go to. Addresses are IPv4 or IPv6, in network byte order: 4 or 16
// bytes.
struct FrameEnds {
  std::array<uint8_t, 6> source_mac;
  std::array<uint8_t, 6> destination_mac;
  std::array<uint8_t, 16> source;
  std::array<uint8_t, 16> destination;
  bool is_ipv6;
  uint16_t port;  // destination

  uint16_t udp_header_bytes() const { return is_ipv6 ? 62 : 42; }
  uint16_t tcp_header_bytes() const { return is_ipv6 ? 74 : 54; }
};

// Writes frames with right checksums. Behind the mark a payload is zeros.
class FrameWriter {
 public:
  static constexpr size_t kFrameMax = 1514;
  using Buffer = std::array<uint8_t, kFrameMax>;

  explicit FrameWriter(const FrameEnds& ends);

  // Precondition: the buffer is zero or has a frame that a FrameWriter with the same kind of addresses wrote.
  void write(Buffer& buffer, const DuePacket& packet, const Mark& mark) const;

 private:
  FrameEnds ends_;
  size_t address_bytes_;
};

}  // namespace orrery::flows
