// SPDX-License-Identifier: Apache-2.0
#include "flows/closed_port.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace orrery::flows {

ClosedPort::ClosedPort(uint16_t port) {
  try {
    take(SOCK_STREAM, port);
    take(SOCK_DGRAM, port);
  } catch (...) {
    for (const int fd : fds_) close(fd);
    throw;
  }
}

ClosedPort::~ClosedPort() {
  for (const int fd : fds_) close(fd);
}

void ClosedPort::take(int type, uint16_t port) {
  const auto check = [&](int result) {
    if (result < 0) throw std::runtime_error("port " + std::to_string(port) + ": " + std::strerror(errno));
  };
  int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
  const bool has_ipv6 = fd >= 0;
  if (!has_ipv6) fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  check(fd);
  fds_.push_back(fd);
  // What a socket's filter refuses is dropped without an answer.
  sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &none};
  check(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(port);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  if (has_ipv6) {
    const int no = 0;
    check(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)));
    check(bind(fd, reinterpret_cast<const sockaddr*>(&any6), sizeof(any6)));
  } else {
    check(bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof(any)));
  }
  if (type == SOCK_STREAM) check(listen(fd, 1));
}

}  // namespace orrery::flows
