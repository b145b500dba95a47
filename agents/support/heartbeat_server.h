// SPDX-License-Identifier: Apache-2.0
// Signs of life of a process, apart from its requests.
#pragma once

#include <string>
#include <thread>

#include "support/json_line_server.h"

namespace orrery {

// Path of the heartbeat socket of a process with this control socket.
std::string heartbeat_path(const std::string& control_path);

// Answers `heartbeat` requests on a socket and a thread of its own, so that an answer waits for no other request: it
// tells that the process runs, not that a request makes progress.
class HeartbeatServer {
 public:
  // Listens at once, answers after start(). Throws like JsonLineServer.
  explicit HeartbeatServer(const std::string& control_path);
  ~HeartbeatServer();
  HeartbeatServer(const HeartbeatServer&) = delete;
  HeartbeatServer& operator=(const HeartbeatServer&) = delete;

  // Call after privileges were given up: the thread inherits those of its creator.
  void start();

 private:
  JsonLineServer server_;
  std::thread thread_;
};

}  // namespace orrery
