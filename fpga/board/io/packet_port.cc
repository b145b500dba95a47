// SPDX-License-Identifier: Apache-2.0
#include "board/io/packet_port.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace orrery::board {
namespace {

constexpr size_t kBatch = 32;
constexpr int kReceiveBufferBytes = 16 << 20;
constexpr size_t kTagBytes = 4;
constexpr size_t kTagAt = 12;

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void set(int fd, int level, int option, int value, const std::string& what) {
  if (setsockopt(fd, level, option, &value, sizeof(value)) != 0) throw_errno(what);
}

// The 802.1Q tag that the kernel keeps outside a frame; 0 if there is none.
uint32_t tag_of(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata aux;
    std::memcpy(&aux, CMSG_DATA(c), sizeof(aux));
    if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0) return 0;
    const uint32_t tpid = (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? aux.tp_vlan_tpid : ETH_P_8021Q;
    return tpid << 16 | aux.tp_vlan_tci;
  }
  return 0;
}

void insert_tag(Frame& frame, uint32_t tag) {
  uint8_t* at = frame.bytes.data() + kTagAt;
  std::memmove(at + kTagBytes, at, frame.length - kTagAt);
  const uint32_t big_endian = htonl(tag);
  std::memcpy(at, &big_endian, kTagBytes);
  frame.length = static_cast<uint16_t>(frame.length + kTagBytes);
}

// Buffers for recvmmsg, kept between calls because setting them up costs more than a frame.
struct ReceiveBatch {
  mmsghdr messages[kBatch] = {};
  iovec vectors[kBatch] = {};
  alignas(cmsghdr) uint8_t control[kBatch][CMSG_SPACE(sizeof(tpacket_auxdata))] = {};

  int receive(int fd, FrameRing& ring, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      vectors[i] = {ring.back(i).bytes.data(), kMaxFrameBytes};
      messages[i].msg_hdr = {};
      messages[i].msg_hdr.msg_iov = &vectors[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      messages[i].msg_hdr.msg_control = control[i];
      messages[i].msg_hdr.msg_controllen = sizeof(control[i]);
    }
    return recvmmsg(fd, messages, static_cast<unsigned>(n), MSG_DONTWAIT | MSG_TRUNC, nullptr);
  }
};

}  // namespace

PacketPort::PacketPort(std::string interface) : interface_(std::move(interface)) {
  // Protocol 0: no frames are received before bind() selects the interface.
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) throw_errno("packet socket");
  try {
    set(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
    set(fd_, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
    set(fd_, SOL_PACKET, PACKET_AUXDATA, 1, "PACKET_AUXDATA");
    if (setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBufferBytes, sizeof(int)) != 0)
      set(fd_, SOL_SOCKET, SO_RCVBUF, kReceiveBufferBytes, "SO_RCVBUF");
    const unsigned index = if_nametoindex(interface_.c_str());
    if (index == 0) throw_errno("interface " + interface_);
    bind_to(static_cast<int>(index));
    refresh();
  } catch (...) {
    close(fd_);
    throw;
  }
}

PacketPort::~PacketPort() {
  close(fd_);
}

void PacketPort::bind_to(int index) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index;
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw_errno("interface " + interface_);
  // Frames carry the fabric's addresses, not that of the interface.
  packet_mreq membership{};
  membership.mr_ifindex = index;
  membership.mr_type = PACKET_MR_PROMISC;
  setsockopt(fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof(membership));
  index_ = index;
}

void PacketPort::refresh() {
  ifreq request{};
  interface_.copy(request.ifr_name, IFNAMSIZ - 1);
  constexpr short kRunning = IFF_UP | IFF_RUNNING;
  up_ = ioctl(fd_, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & kRunning) == kRunning;
  const int index = static_cast<int>(if_nametoindex(interface_.c_str()));
  if (index == 0 || index == index_) return;
  try {
    bind_to(index);
  } catch (const std::system_error&) {
    up_ = false;  // gone again
  }
}

bool PacketPort::receive(FrameRing& ring) {
  static thread_local ReceiveBatch batch;
  const size_t room = std::min(ring.free(), kBatch);
  if (room == 0) return true;
  const int n = batch.receive(fd_, ring, room);
  if (n <= 0) return false;
  taken_ += static_cast<uint64_t>(n);
  size_t kept = 0;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const size_t length = batch.messages[i].msg_len;
    const uint32_t tag = tag_of(batch.messages[i].msg_hdr);
    if (length + (tag != 0 ? kTagBytes : 0) > kMaxFrameBytes || length < ETH_HLEN) {
      ++counters_.drop_long;
      continue;
    }
    Frame& frame = ring.back(kept);
    if (kept != i) std::memcpy(frame.bytes.data(), ring.back(i).bytes.data(), length);
    frame.length = static_cast<uint16_t>(length);
    if (tag != 0) insert_tag(frame, tag);
    counters_.rx_bytes += frame.length;
    ++kept;
  }
  counters_.rx += kept;
  ring.push(kept);
  return static_cast<size_t>(n) == room;
}

uint64_t PacketPort::discard() {
  mmsghdr messages[kBatch] = {};
  uint64_t total = 0;
  for (int n = 0; (n = recvmmsg(fd_, messages, kBatch, MSG_DONTWAIT | MSG_TRUNC, nullptr)) > 0;)
    total += static_cast<uint64_t>(n);
  taken_ += total;
  return total;
}

void PacketPort::send(FrameRing& ring) {
  mmsghdr messages[kBatch] = {};
  iovec vectors[kBatch];
  while (!ring.empty()) {
    const size_t n = std::min(ring.size(), kBatch);
    for (size_t i = 0; i < n; ++i) {
      vectors[i] = {ring.front(i).bytes.data(), ring.front(i).length};
      messages[i].msg_hdr.msg_iov = &vectors[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    const int sent = sendmmsg(fd_, messages, static_cast<unsigned>(n), MSG_DONTWAIT);
    if (sent > 0) {
      for (int i = 0; i < sent; ++i) counters_.tx_bytes += messages[i].msg_len;
      counters_.tx += static_cast<uint64_t>(sent);
      ring.pop(static_cast<size_t>(sent));
      refusals_ = 0;
      continue;
    }
    if (errno == EINTR) continue;
    const bool full = errno == EAGAIN || errno == ENOBUFS;
    if (full && ++refusals_ < kMaxRefusals) return;
    ++(full ? counters_.drop_tx_full : errno == EMSGSIZE ? counters_.drop_oversize : counters_.drop_link_down);
    ring.pop();
  }
}

void PacketPort::read_statistics() {
  tpacket_stats now{};
  socklen_t length = sizeof(now);
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &now, &length) != 0) return;
  arrived_ += now.tp_packets - now.tp_drops;
  counters_.drop_kernel += now.tp_drops;
}

uint64_t PacketPort::waiting() {
  read_statistics();
  return arrived_ - taken_;
}

const PortCounters& PacketPort::counters() {
  read_statistics();
  return counters_;
}

}  // namespace orrery::board
