// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "board/io/packet_port.h"
#include "board/sim/fabric.h"
#include "support/link_watch.h"

namespace orrery::board {

struct PortOption {
  size_t slot = 0;
  Side side = kNear;
  std::string interface;
};

// The Ethernet ports of a board and the way of their frames to the fabric's queues.
class Ports {
 public:
  struct Port {
    size_t slot;
    Side side;
    std::unique_ptr<PacketPort> socket;
    bool readable;      // the socket may hold frames
    uint64_t lost_off;  // frames that came while the device was not configured
  };

  // Adds its descriptors to `epoll`, edge-triggered, with &this as data.
  Ports(const std::vector<PortOption>& options, int epoll);

  const std::vector<Port>& all() const { return ports_; }

  // After an event of any of its descriptors.
  void wake();

  // Frames from sockets into the fabric's queues, as far as these have room.
  void receive(Fabric& fabric);
  // Frames may wait in a socket for which there is room.
  bool more(Fabric& fabric) const;
  // Frames from the fabric's queues to sockets. Whether all went.
  bool send(Fabric& fabric);

  // Links are down: frames that have come are lost.
  void discard();

  // Frames that have come for the slot and have not gone into the shell.
  uint64_t backlog(Fabric& fabric, size_t slot);
  // Frames for the slot that were lost before they reached the shell.
  uint64_t lost(size_t slot);

 private:
  std::vector<Port> ports_;
  LinkWatch links_;
};

}  // namespace orrery::board
