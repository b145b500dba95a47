// SPDX-License-Identifier: Apache-2.0
#include "support/link_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace orrery {

LinkWatch::LinkWatch() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE)) {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (fd_ < 0 || bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    throw std::system_error(error, std::generic_category(), "netlink socket");
  }
}

LinkWatch::~LinkWatch() {
  close(fd_);
}

bool LinkWatch::clear() {
  char buffer[8192];
  for (bool told = false;; told = true) {
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), MSG_DONTWAIT);
    // An overrun (ENOBUFS) means that something has changed, which is all that matters.
    if (n < 0 && errno != ENOBUFS && errno != EINTR) return told;
  }
}

}  // namespace orrery
