// SPDX-License-Identifier: Apache-2.0
#include "board/io/ports.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace orrery::board {

Ports::Ports(const std::vector<PortOption>& options, int epoll) {
  const auto watch = [&](int fd, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = this;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
      throw std::system_error(errno, std::generic_category(), "epoll");
  };
  for (const PortOption& option : options) {
    ports_.push_back({option.slot, option.side, std::make_unique<PacketPort>(option.interface), true, 0});
    watch(ports_.back().socket->fd(), EPOLLIN | EPOLLET);
  }
  watch(links_.fd(), EPOLLIN);
}

void Ports::wake() {
  for (Port& port : ports_) port.readable = true;
  if (links_.clear())
    for (Port& port : ports_) port.socket->refresh();
}

void Ports::receive(Simulation& simulation) {
  for (Port& port : ports_) {
    FrameRing& ring = simulation.queue(port.slot, port.side).in;
    while (port.readable && !ring.full()) port.readable = port.socket->receive(ring);
  }
}

bool Ports::more(Simulation& simulation) const {
  return std::any_of(ports_.begin(), ports_.end(), [&](const Port& port) {
    return port.readable && !simulation.queue(port.slot, port.side).in.full();
  });
}

bool Ports::send(Simulation& simulation) {
  bool all = true;
  for (size_t slot = 0; slot < simulation.slots(); ++slot) {
    for (const Side side : {kNear, kFar}) {
      FrameRing& ring = simulation.queue(slot, side).out;
      if (ring.empty()) continue;
      PacketPort* socket = nullptr;
      for (Port& port : ports_)
        if (port.slot == slot && port.side == side) socket = port.socket.get();
      if (socket == nullptr) {
        ring.pop(ring.size());  // no interface for this port
      } else {
        socket->send(ring);
      }
      all &= ring.empty();
    }
  }
  return all;
}

void Ports::discard() {
  for (Port& port : ports_) {
    port.lost_off += port.socket->discard();
    port.readable = false;
  }
}

uint64_t Ports::backlog(Simulation& simulation, size_t slot) {
  uint64_t frames = 0;
  for (Port& port : ports_)
    if (port.slot == slot) frames += simulation.queue(slot, port.side).in.size() + port.socket->waiting();
  return frames;
}

uint64_t Ports::lost(size_t slot) {
  uint64_t frames = 0;
  for (Port& port : ports_)
    if (port.slot == slot) frames += port.lost_off + port.socket->counters().drop_kernel;
  return frames;
}

}  // namespace orrery::board
