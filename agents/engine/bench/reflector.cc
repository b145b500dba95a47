// SPDX-License-Identifier: Apache-2.0
#include "reflector.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "udp_frame.h"

namespace orrery::bench {
namespace {

constexpr int kLostAfterMs = 20;
constexpr int kBufferBytes = 8 << 20;

int open_socket(const std::string& iface) {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(iface.c_str()));
  if (fd < 0 || address.sll_ifindex == 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    throw std::runtime_error("interface " + iface + ": " + why);
  }
  // Frames on their way to a hop carry an address that no interface has.
  packet_mreq all{};
  all.mr_ifindex = address.sll_ifindex;
  all.mr_type = PACKET_MR_PROMISC;
  setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kBufferBytes, sizeof(kBufferBytes));
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kBufferBytes, sizeof(kBufferBytes));
  return fd;
}

}  // namespace

Reflector::Reflector(const std::string& iface, uint16_t bytes, size_t frames)
    : fd_(open_socket(iface)), thread_([this, bytes, frames] { run(bytes, frames); }) {}

Reflector::~Reflector() {
  stop_.store(true);
  thread_.join();
  close(fd_);
}

void Reflector::run(uint16_t bytes, size_t in_circulation) {
  std::vector<std::vector<uint8_t>> frames(in_circulation, std::vector<uint8_t>(bytes));
  std::vector<iovec> buffers(in_circulation);
  std::vector<mmsghdr> messages(in_circulation);
  for (size_t i = 0; i < in_circulation; ++i) {
    buffers[i] = {.iov_base = frames[i].data(), .iov_len = bytes};
    messages[i].msg_hdr.msg_iov = &buffers[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  while (!stop_.load()) {
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    int count = 0;
    if (poll(&readable, 1, kLostAfterMs) == 0) {
      for (size_t i = 0; i < in_circulation; ++i) write_udp_headers(frames[i].data(), bytes, static_cast<uint16_t>(i));
      count = static_cast<int>(in_circulation);
    } else {
      count = recvmmsg(fd_, messages.data(), static_cast<unsigned>(in_circulation), 0, nullptr);
    }
    if (count > 0) sendmmsg(fd_, messages.data(), static_cast<unsigned>(count), 0);
  }
}

}  // namespace orrery::bench
