// SPDX-License-Identifier: Apache-2.0
#include "linkd/frame_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/checksum.h"
#include "support/clock.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace orrery::linkd {
namespace {

constexpr int kBufferBytes = 8 << 20;
constexpr size_t kFrameMax = 14 + 65536;
constexpr uint32_t kTagBytes = 4;
constexpr size_t kTagAt = 12;
// A frame cannot have waited in the kernel for longer: a greater difference means that the clock was set.
constexpr uint64_t kWaitMaxNs = 1'000'000'000;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

template <typename T>
void set(int fd, int level, int option, const T& value, const char* name) {
  if (setsockopt(fd, level, option, &value, sizeof(value)) != 0) fail(name);
}

uint64_t nanoseconds(const timespec& t) {
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Restores the 802.1Q tag, which the kernel keeps outside the frame.
void insert_tag(Frame& frame, uint16_t tpid, uint16_t tci) {
  uint8_t tag[kTagBytes];
  store_be16(tag, tpid);
  store_be16(tag + 2, tci);
  frame.bytes.insert(frame.bytes.begin() + kTagAt, tag, tag + kTagBytes);
  if ((frame.offload.flags & OffloadHeader::kNeedsChecksum) != 0) frame.offload.csum_start += kTagBytes;
  if (frame.offload.hdr_len != 0) frame.offload.hdr_len += kTagBytes;
}

void read_ancillary(msghdr& message, Frame& frame, uint64_t realtime_ahead_ns, uint64_t now_ns) {
  frame.received_ns = now_ns;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPNS) {
      timespec stamp{};
      std::memcpy(&stamp, CMSG_DATA(part), sizeof(stamp));
      const uint64_t at_ns = nanoseconds(stamp) - realtime_ahead_ns;
      if (at_ns <= now_ns && now_ns - at_ns < kWaitMaxNs) frame.received_ns = at_ns;
    } else if (part->cmsg_level == SOL_PACKET && part->cmsg_type == PACKET_AUXDATA) {
      tpacket_auxdata extra{};
      std::memcpy(&extra, CMSG_DATA(part), sizeof(extra));
      if ((extra.tp_status & TP_STATUS_VLAN_VALID) != 0 && frame.bytes.size() >= kTagAt)
        insert_tag(frame, (extra.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? extra.tp_vlan_tpid : ETH_P_8021Q,
                   extra.tp_vlan_tci);
    }
  }
}

}  // namespace

uint64_t Frame::segments() const {
  if (offload.gso_type == 0 || offload.gso_size == 0) return 1;
  const uint64_t payload = bytes.size() - std::min<uint64_t>(bytes.size(), offload.hdr_len);
  return std::max<uint64_t>(1, (payload + offload.gso_size - 1) / offload.gso_size);
}

uint64_t Frame::wire_bytes() const {
  return bytes.size() + (segments() - 1) * offload.hdr_len;
}

FrameSocket::FrameSocket(std::string interface) : interface_(std::move(interface)) {
  // Protocol 0: no frames are received before bind() selects the interface.
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail("packet socket");
  try {
    set(fd_, SOL_PACKET, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
    set(fd_, SOL_PACKET, PACKET_AUXDATA, 1, "PACKET_AUXDATA");
    set(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
    set(fd_, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
    for (int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE}) set(fd_, SOL_SOCKET, option, kBufferBytes, "socket buffer");
    index_ = if_nametoindex(interface_.c_str());
    if (index_ == 0) throw std::runtime_error("no interface " + interface_);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(index_);
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) fail("interface " + interface_);
    // Frames are addressed to the other end, not to this interface.
    packet_mreq all{};
    all.mr_ifindex = static_cast<int>(index_);
    all.mr_type = PACKET_MR_PROMISC;
    set(fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, all, "promiscuous mode");
  } catch (...) {
    close(fd_);
    throw;
  }
}

FrameSocket::~FrameSocket() {
  close(fd_);
}

std::vector<Frame> FrameSocket::receive(size_t most) {
  static thread_local std::vector<uint8_t> buffer(kFrameMax);
  std::vector<Frame> frames;
  timespec realtime{};
  clock_gettime(CLOCK_REALTIME, &realtime);
  const uint64_t now_ns = monotonic_ns();
  const uint64_t realtime_ahead_ns = nanoseconds(realtime) - now_ns;
  while (frames.size() < most) {
    Frame frame;
    iovec parts[] = {{&frame.offload, sizeof(frame.offload)}, {buffer.data(), buffer.size()}};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(sizeof(tpacket_auxdata))];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t length = recvmsg(fd_, &message, 0);
    // An interface that goes down is reported once, by ENETDOWN; the socket works again when it is up.
    if (length < 0) break;
    if (static_cast<size_t>(length) < sizeof(frame.offload) || (message.msg_flags & MSG_TRUNC) != 0) continue;
    frame.bytes.assign(buffer.begin(), buffer.begin() + (length - static_cast<ssize_t>(sizeof(frame.offload))));
    read_ancillary(message, frame, realtime_ahead_ns, now_ns);
    frames.push_back(std::move(frame));
  }
  return frames;
}

Sent FrameSocket::send(const Frame& frame) {
  iovec parts[] = {{const_cast<OffloadHeader*>(&frame.offload), sizeof(frame.offload)},
                   {const_cast<uint8_t*>(frame.bytes.data()), frame.bytes.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (sendmsg(fd_, &message, 0) >= 0) return Sent::kYes;
  return errno == ENXIO || errno == ENODEV ? Sent::kGone : Sent::kRefused;
}

bool FrameSocket::present() const {
  return if_nametoindex(interface_.c_str()) == index_;
}

uint64_t FrameSocket::overflow() {
  tpacket_stats stats{};
  socklen_t length = sizeof(stats);
  // Reading resets the kernel's count.
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0) overflow_ += stats.tp_drops;
  return overflow_;
}

}  // namespace orrery::linkd
