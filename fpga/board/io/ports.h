// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "board/io/packet_port.h"
#include "board/sim/simulation.h"
#include "support/link_watch.h"

namespace orrery::board {

struct PortOption {
  size_t slot = 0;
  Side side = kNear;
  std::string interface;
};

// The Ethernet ports of a board, connected to the simulation's queues.
class Ports {
 public:
  struct Port {
    size_t slot;
    Side side;
    std::unique_ptr<PacketPort> socket;
    bool readable;      // the socket may hold frames
    uint64_t lost_off;  // frames that arrived while the device was not configured
  };

  // Adds its descriptors to `epoll`, edge-triggered, with &this as data.
  Ports(const std::vector<PortOption>& options, int epoll);

  const std::vector<Port>& all() const { return ports_; }

  // Must be called after an event on any of its descriptors.
  void wake();

  // Moves frames from sockets into the simulation's queues while there is room.
  void receive(Simulation& simulation);
  // Whether frames may be waiting in a socket whose queue has room.
  bool more(Simulation& simulation) const;
  // Moves frames from the simulation's queues to sockets. Returns whether all were sent.
  bool send(Simulation& simulation);

  // Links are down: frames that have arrived are lost.
  void discard();

  // Frames that have arrived for the slot but not entered the shell.
  uint64_t backlog(Simulation& simulation, size_t slot);
  // Frames for the slot that were lost before they reached the shell.
  uint64_t lost(size_t slot);

 private:
  std::vector<Port> ports_;
  LinkWatch links_;
};

}  // namespace orrery::board
