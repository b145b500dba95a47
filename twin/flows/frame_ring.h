// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "support/packet_socket.h"

namespace orrery::flows {

// The payload of a TCP or UDP packet, as far as it was kept.
struct ArrivedPacket {
  std::span<const uint8_t> payload;
  uint64_t arrived_ns;  // monotonic, when the kernel received it
  size_t frame_bytes;
};

// Packets to a TCP or UDP port that arrive at an interface for this host, in a ring that the kernel writes; fragments
// are left out. Of each frame 160 bytes are kept. Needs CAP_NET_RAW.
class FrameRing {
 public:
  // Throws std::runtime_error.
  FrameRing(std::string interface, uint16_t port);
  ~FrameRing();
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;

  // Hands over what has arrived, in order; waits so long for the first. False when the wait was interrupted.
  bool receive(int wait_ms, const std::function<void(const ArrivedPacket&)>& take);

  // Frames that found no room since it was opened.
  uint64_t overflow() { return socket_.overflow(); }

 private:
  PacketSocket socket_;
  uint8_t* ring_ = nullptr;
  unsigned block_ = 0;  // the next one
};

}  // namespace orrery::flows
