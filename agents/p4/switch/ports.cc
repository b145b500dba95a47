// SPDX-License-Identifier: Apache-2.0
#include "p4/switch/ports.h"

#include <net/if.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace orrery::p4 {
namespace {

// Whether the interface is up and has a carrier. `fd` is any socket.
bool is_up(int fd, const std::string& interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  return ioctl(fd, SIOCGIFFLAGS, &request) == 0 &&
         (request.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

}  // namespace

const char* name_of(PortState state) {
  static constexpr const char* kNames[] = {"absent", "down", "up"};
  return kNames[static_cast<size_t>(state)];
}

void Ports::set(const std::vector<PortConfig>& configs) {
  flush();
  for (auto each = ports_.begin(); each != ports_.end();) {
    Port& port = *each->second;
    const auto stays = std::ranges::find_if(configs, [&](const PortConfig& config) {
      return config.number == port.config.number && config.interface == port.config.interface;
    });
    if (stays != configs.end()) {
      port.config.name = stays->name;
      ++each;
      continue;
    }
    close(port);
    by_number_[port.config.number] = nullptr;
    each = ports_.erase(each);
  }
  for (const PortConfig& config : configs) {
    auto& port = ports_[config.number];
    if (port) continue;
    port = std::make_unique<Port>(config);
    by_number_[config.number] = port.get();
  }
  refresh();
}

void Ports::refresh() {
  for (auto& [number, port] : ports_) refresh(*port);
}

void Ports::refresh(Port& port) {
  if (port.socket && !port.socket->present()) close(port);
  if (!port.socket) open(port);
  port.state = !port.socket                                      ? PortState::kAbsent
               : is_up(port.socket->fd(), port.config.interface) ? PortState::kUp
                                                                 : PortState::kDown;
}

void Ports::open(Port& port) {
  try {
    port.socket.emplace(port.config.interface);
  } catch (const std::runtime_error& error) {
    port.failure = error.what();
    return;
  }
  port.failure.clear();
  epoll_event event{.events = EPOLLIN, .data = {.u32 = port.config.number}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, port.socket->fd(), &event);
}

void Ports::close(Port& port) {
  if (!port.socket) return;
  port.overflow_before += port.socket->overflow();
  epoll_ctl(epoll_, EPOLL_CTL_DEL, port.socket->fd(), nullptr);
  port.socket.reset();
}

std::vector<PortReport> Ports::report() {
  std::vector<PortReport> out;
  for (auto& [number, port] : ports_) {
    port->counters.rx_full = port->overflow_before + (port->socket ? port->socket->overflow() : 0);
    out.push_back({port->config, port->state, port->failure, port->counters});
  }
  return out;
}

std::set<uint32_t> Ports::up() const {
  std::set<uint32_t> out;
  for (const auto& [number, port] : ports_)
    if (port->state == PortState::kUp) out.insert(number);
  return out;
}

void Ports::send(Port& port, std::span<const uint8_t> head, std::span<const uint8_t> payload) {
  if (!port.socket) {
    ++port.counters.tx_down;
    return;
  }
  if (port.out.size() == 0) sending_.push_back(&port);
  port.out.add(head, payload);
  if (port.out.size() == kBatch) flush(port);
}

void Ports::flush() {
  for (Port* port : sending_) flush(*port);
  sending_.clear();
}

void Ports::flush(Port& port) {
  if (port.out.size() > 0 && port.socket) port.socket->send(port.out, port.counters);
  port.out.clear();
}

}  // namespace orrery::p4
