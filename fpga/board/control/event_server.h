// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "board/control/unix_listener.h"

namespace orrery::board {

// Sends every event as a line of JSON to all subscribers. A subscriber that reads too slowly misses events and is told
// how many: {"lost": n}, as soon as it has taken what was sent before them.
class EventServer {
 public:
  static constexpr size_t kMaxClients = 16;           // further connections are closed at once
  static constexpr size_t kMaxClientBytes = 1 << 18;  // queued for one subscriber

  explicit EventServer(const std::string& path);
  ~EventServer();
  EventServer(const EventServer&) = delete;
  EventServer& operator=(const EventServer&) = delete;

  // Readable when serve() has work.
  int fd() const { return epoll_; }
  void serve();

  // Whether a subscriber is connected.
  bool heard() const { return !clients_.empty(); }
  void publish(const nlohmann::json& event);

  uint64_t lost() const { return lost_; }  // over all subscribers

 private:
  struct Client {
    std::string output;
    uint64_t lost = 0;
  };

  // The line that tells it, after which it counts from zero; empty if nothing was lost.
  static std::string told_loss(Client& client);
  void accept_all();
  void send_some(int fd, Client& client);
  void drop(int fd);

  UnixListener listener_;
  int epoll_;
  std::map<int, Client> clients_;
  uint64_t lost_ = 0;
};

}  // namespace orrery::board
