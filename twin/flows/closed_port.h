// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::flows {

// Takes a TCP and a UDP port of this host, so that the kernel answers packets to them with nothing: without it, it
// would answer each with a reset or an ICMP error.
class ClosedPort {
 public:
  // Throws std::runtime_error, e.g. when a program has one of them.
  explicit ClosedPort(uint16_t port);
  ~ClosedPort();
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;

 private:
  void take(int type, uint16_t port);

  std::vector<int> fds_;
};

}  // namespace orrery::flows
