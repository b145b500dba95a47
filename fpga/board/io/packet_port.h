// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "board/io/frame_ring.h"

namespace orrery::board {

// Frames; all count since the start.
struct PortCounters {
  uint64_t rx = 0;  // taken from the interface
  uint64_t rx_bytes = 0;
  uint64_t tx = 0;  // given to the interface
  uint64_t tx_bytes = 0;
  uint64_t drop_kernel = 0;     // the socket's buffer was full
  uint64_t drop_long = 0;       // more than 2,048 bytes, such as frames that segmentation offload has joined
  uint64_t drop_tx_full = 0;    // the interface took no more
  uint64_t drop_oversize = 0;   // longer than the MTU of the interface on which they would leave
  uint64_t drop_link_down = 0;  // sent while the interface was down or absent
};

// One Ethernet port: a packet socket on an interface of this network namespace. The interface may go down, vanish and
// come back under its name.
class PacketPort {
 public:
  static constexpr int kMaxRefusals = 1000;

  // Throws std::system_error where there is no such interface or no right to a packet socket.
  explicit PacketPort(std::string interface);
  ~PacketPort();
  PacketPort(const PacketPort&) = delete;
  PacketPort& operator=(const PacketPort&) = delete;

  const std::string& interface() const { return interface_; }
  int fd() const { return fd_; }
  bool up() const { return up_; }

  // Moves what waits in the socket to `ring` as far as it goes, at most a batch. Never waits. False: nothing waits.
  bool receive(FrameRing& ring);

  // Takes what waits in the socket away. Returns how many frames that were, which do not count as received.
  uint64_t discard();

  // Sends `ring`, the rest at the next call where the interface takes no more for the moment; after kMaxRefusals calls
  // in a row without a frame taken, and while the link is down, frames are dropped and counted.
  void send(FrameRing& ring);

  // Frames that wait in the socket.
  uint64_t waiting();

  // To be called when links have changed.
  void refresh();

  const PortCounters& counters();

 private:
  void read_statistics();
  void bind_to(int index);

  std::string interface_;
  int fd_ = -1;
  int index_ = 0;
  bool up_ = false;
  uint64_t arrived_ = 0;  // that the kernel has put into the socket
  int refusals_ = 0;
  uint64_t taken_ = 0;  // that were taken out of it
  PortCounters counters_;
};

}  // namespace orrery::board
