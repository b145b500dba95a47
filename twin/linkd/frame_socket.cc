// SPDX-License-Identifier: Apache-2.0
#include "linkd/frame_socket.h"

#include <linux/if_packet.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/clock.h"

namespace orrery::linkd {
namespace {

constexpr int kBufferBytes = 8 << 20;
constexpr size_t kFrameMax = 14 + 65536;
// A frame cannot have waited in the kernel for longer: a greater difference means that the clock was set.
constexpr uint64_t kWaitMaxNs = 1'000'000'000;

void set(int fd, int level, int option, const char* name) {
  const int on = 1;
  if (setsockopt(fd, level, option, &on, sizeof(on)) != 0)
    throw std::runtime_error(std::string(name) + ": " + std::strerror(errno));
}

void prepare(int fd) {
  set(fd, SOL_PACKET, PACKET_VNET_HDR, "PACKET_VNET_HDR");
  set(fd, SOL_PACKET, PACKET_AUXDATA, "PACKET_AUXDATA");
  set(fd, SOL_SOCKET, SO_TIMESTAMPNS, "SO_TIMESTAMPNS");
  enlarge_buffers(fd, kBufferBytes);
}

uint64_t nanoseconds(const timespec& t) {
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Restores the 802.1Q tag, which the kernel keeps outside the frame.
void insert_tag(Frame& frame, VlanTag tag) {
  frame.bytes.insert(frame.bytes.begin(), VlanTag::kBytes, 0);
  insert_vlan_tag(frame.bytes.data() + VlanTag::kBytes, tag);
  if ((frame.offload.flags & OffloadHeader::kNeedsChecksum) != 0) frame.offload.csum_start += VlanTag::kBytes;
  if (frame.offload.hdr_len != 0) frame.offload.hdr_len += VlanTag::kBytes;
}

void read_ancillary(msghdr& message, Frame& frame, uint64_t realtime_ahead_ns, uint64_t now_ns) {
  frame.received_ns = now_ns;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_TIMESTAMPNS) {
      timespec stamp{};
      std::memcpy(&stamp, CMSG_DATA(part), sizeof(stamp));
      const uint64_t at_ns = nanoseconds(stamp) - realtime_ahead_ns;
      if (at_ns <= now_ns && now_ns - at_ns < kWaitMaxNs) frame.received_ns = at_ns;
    }
  }
  if (const auto tag = vlan_tag_of(message); tag && frame.bytes.size() >= VlanTag::kAt) insert_tag(frame, *tag);
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

FrameSocket::FrameSocket(std::string interface) : socket_(std::move(interface), prepare) {}

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
    const ssize_t length = recvmsg(fd(), &message, 0);
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
  if (sendmsg(fd(), &message, 0) >= 0) return Sent::kYes;
  return errno == ENXIO || errno == ENODEV ? Sent::kGone : Sent::kRefused;
}

}  // namespace orrery::linkd
