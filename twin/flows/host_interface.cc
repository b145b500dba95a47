// SPDX-License-Identifier: Apache-2.0
#include "flows/host_interface.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace orrery::flows {
namespace {

class Socket {
 public:
  explicit Socket(int family) : fd_(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::array<uint8_t, 6> mac_of(const std::string& interface, int fd) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(fd, SIOCGIFHWADDR, &request) != 0) fail("interface " + interface);
  std::array<uint8_t, 6> mac;
  std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
  return mac;
}

std::array<uint8_t, 6> parse_mac(const std::string& text) {
  std::array<uint8_t, 6> mac;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < mac.size(); ++i) {
    const auto [after, error] = std::from_chars(at, std::min(at + 2, end), mac[i], 16);
    const bool is_last = i + 1 == mac.size();
    if (error != std::errc() || (is_last ? after != end : after == end || *after != ':'))
      throw std::runtime_error(text + " is no MAC address");
    at = after + 1;
  }
  return mac;
}

}  // namespace

FrameEnds frame_ends(const std::string& interface, const std::string& destination, const std::string& gateway_mac,
                     uint16_t port) {
  FrameEnds ends{};
  ends.port = port;
  ends.destination_mac = parse_mac(gateway_mac);
  ends.is_ipv6 = destination.find(':') != std::string::npos;
  const int family = ends.is_ipv6 ? AF_INET6 : AF_INET;
  if (inet_pton(family, destination.c_str(), ends.destination.data()) != 1)
    throw std::runtime_error(destination + " is no address");
  const Socket probe(family);
  ends.source_mac = mac_of(interface, probe.fd());
  // The kernel tells the source address that it would take; nothing is sent.
  if (setsockopt(probe.fd(), SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(), interface.size()) != 0)
    fail("interface " + interface);
  sockaddr_storage address{};
  auto* const to = reinterpret_cast<sockaddr*>(&address);
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
  socklen_t length = ends.is_ipv6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  address.ss_family = static_cast<sa_family_t>(family);
  if (ends.is_ipv6) {
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, ends.destination.data(), 16);
  } else {
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, ends.destination.data(), 4);
  }
  if (connect(probe.fd(), to, length) != 0 || getsockname(probe.fd(), to, &length) != 0)
    fail("no way to " + destination + " by " + interface);
  if (ends.is_ipv6) {
    std::memcpy(ends.source.data(), &v6->sin6_addr, 16);
  } else {
    std::memcpy(ends.source.data(), &v4->sin_addr, 4);
  }
  return ends;
}

}  // namespace orrery::flows
