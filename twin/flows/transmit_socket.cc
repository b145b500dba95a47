// SPDX-License-Identifier: Apache-2.0
#include "flows/transmit_socket.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/packet_socket.h"

namespace orrery::flows {
namespace {

constexpr int kBufferBytes = 8 << 20;
constexpr int kRoomWaitMs = 100;

}  // namespace

TransmitSocket::TransmitSocket(const std::string& interface)
    : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  const auto fail = [this](const std::string& what) {
    const std::string text = what + ": " + std::strerror(errno);
    if (fd_ >= 0) close(fd_);
    throw std::runtime_error(text);
  };
  if (fd_ < 0) fail("packet socket");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  if (address.sll_ifindex == 0 || bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    fail("interface " + interface);
  enlarge_buffers(fd_, kBufferBytes);
  for (size_t i = 0; i < kBatch; ++i) {
    parts_[i].iov_base = buffers_[i].data();
    messages_[i].msg_hdr.msg_iov = &parts_[i];
    messages_[i].msg_hdr.msg_iovlen = 1;
  }
}

TransmitSocket::~TransmitSocket() {
  close(fd_);
}

TransmitSocket::Sent TransmitSocket::send(size_t count) {
  Sent sent{};
  for (size_t at = 0; at < count;) {
    const int taken = sendmmsg(fd_, &messages_[at], static_cast<unsigned>(count - at), 0);
    if (taken > 0) {
      for (int i = 0; i < taken; ++i) sent.bytes += parts_[at++].iov_len;
      sent.frames += static_cast<size_t>(taken);
      continue;
    }
    if (errno == EINTR) continue;
    sent.error = errno;
    pollfd room{fd_, POLLOUT, 0};
    if (sent.error == EAGAIN && poll(&room, 1, kRoomWaitMs) > 0) {
      sent.error = 0;
    } else if (sent.error == ENOBUFS) {
      ++at;  // the queue of the interface was full for this one
    } else {
      return sent;
    }
  }
  return sent;
}

}  // namespace orrery::flows
