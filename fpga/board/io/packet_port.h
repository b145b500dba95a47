// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "board/io/frame_ring.h"

namespace orrery::board {

// Frames; all counters start with the process.
struct PortCounters {
  uint64_t rx = 0;  // received from the interface
  uint64_t rx_bytes = 0;
  uint64_t tx = 0;  // sent to the interface
  uint64_t tx_bytes = 0;
  uint64_t drop_kernel = 0;     // the socket's buffer was full
  uint64_t drop_long = 0;       // more than 2,048 bytes, such as frames merged by receive offload
  uint64_t drop_tx_full = 0;    // the interface accepted no more
  uint64_t drop_oversize = 0;   // longer than the MTU of the egress interface
  uint64_t drop_link_down = 0;  // sent while the interface was down or absent
};

// One Ethernet port: a packet socket on an interface of this network namespace. The interface may go down, disappear
// and come back under its name.
class PacketPort {
 public:
  static constexpr int kMaxRefusals = 1000;

  // Throws std::system_error if there is no such interface, or no permission to open a packet socket.
  explicit PacketPort(std::string interface);
  ~PacketPort();
  PacketPort(const PacketPort&) = delete;
  PacketPort& operator=(const PacketPort&) = delete;

  const std::string& interface() const { return interface_; }
  int fd() const { return fd_; }
  bool up() const { return up_; }

  // Moves frames waiting in the socket to `ring` while there is room, at most a batch. Never blocks. False: none is
  // waiting.
  bool receive(FrameRing& ring);

  // Discards the frames waiting in the socket. Returns how many there were; they do not count as received.
  uint64_t discard();

  // Sends `ring`, and keeps the rest for the next call if the interface accepts no more for now; after kMaxRefusals
  // calls in a row without progress, and while the link is down, frames are dropped and counted.
  void send(FrameRing& ring);

  // Frames waiting in the socket.
  uint64_t waiting();

  // Must be called when links have changed.
  void refresh();

  const PortCounters& counters();

 private:
  void read_statistics();
  void bind_to(int index);

  std::string interface_;
  int fd_ = -1;
  int index_ = 0;
  bool up_ = false;
  uint64_t arrived_ = 0;  // frames that the kernel has put into the socket
  int refusals_ = 0;
  uint64_t taken_ = 0;  // frames read from it
  PortCounters counters_;
};

}  // namespace orrery::board
