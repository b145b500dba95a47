// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "p4/service/device.h"

namespace orrery::p4::service {

// Checks an address: unix:/path, or host and port of this machine alone. Throws std::invalid_argument.
void check_address(const std::string& address);

// Serves a device over gRPC on threads of its own, and calls its tick().
class Server {
 public:
  // Listens at once. A socket file that nobody serves is replaced; it is for this user alone. Throws
  // std::runtime_error where an address cannot be used. Preconditions: they are checked; the packet thread has not
  // begun.
  Server(Device& device, const std::vector<std::string>& addresses);
  // Ends all streams; waits at most about a second. Precondition: the packet thread has ended.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orrery::p4::service
