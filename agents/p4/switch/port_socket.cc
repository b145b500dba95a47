// SPDX-License-Identifier: Apache-2.0
#include "p4/switch/port_socket.h"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

namespace orrery::p4 {
namespace {

constexpr int kBufferBytes = 8 << 20;
// Not a power of two, so that the begins of the frames do not meet in the same lines of the cache.
constexpr size_t kSlotBytes = kMostFrameBytes + 64 + 64;
constexpr size_t kFrameAt = 64;
constexpr size_t kAncillaryBytes = CMSG_SPACE(sizeof(tpacket_auxdata));
static_assert(kAncillaryBytes % alignof(cmsghdr) == 0);

// What a frame counts as that was not sent.
uint64_t& dropped_for(int error, PortCounters& counters) {
  switch (error) {
    case EMSGSIZE:
      return counters.tx_too_long;
    case EINVAL:
      return counters.tx_runt;
    case EAGAIN:
    case ENOBUFS:
      return counters.tx_full;
    default:
      return counters.tx_down;
  }
}

void prepare(int fd) {
  const int on = 1;
  if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) != 0) throw std::runtime_error("PACKET_AUXDATA");
  enlarge_buffers(fd, kBufferBytes);
}

}  // namespace

FrameBuffers::FrameBuffers() : bytes_(kBatch * kSlotBytes), ancillary_(kBatch * kAncillaryBytes) {
  for (size_t i = 0; i < kBatch; ++i) {
    vectors_[i] = {slot(i), kMostFrameBytes};
    messages_[i].msg_hdr.msg_iov = &vectors_[i];
    messages_[i].msg_hdr.msg_iovlen = 1;
    messages_[i].msg_hdr.msg_control = ancillary_.data() + i * kAncillaryBytes;
  }
  messages(kBatch);
}

mmsghdr* FrameBuffers::messages(size_t used) {
  for (size_t i = 0; i < used; ++i) messages_[i].msg_hdr.msg_controllen = kAncillaryBytes;
  return messages_.data();
}

uint8_t* FrameBuffers::slot(size_t index) {
  return bytes_.data() + index * kSlotBytes + kFrameAt;
}

void OutBatch::add(std::span<const uint8_t> head, std::span<const uint8_t> payload) {
  frames_.push_back({bytes_.size(), head.size() + payload.size()});
  bytes_.insert(bytes_.end(), head.begin(), head.end());
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
}

std::span<const uint8_t> OutBatch::frame(size_t index) const {
  return {bytes_.data() + frames_[index].offset, frames_[index].length};
}

void OutBatch::clear() {
  bytes_.clear();
  frames_.clear();
}

PortSocket::PortSocket(const std::string& interface) : socket_(interface, prepare) {
  frames_.reserve(kBatch);
}

std::span<const std::span<const uint8_t>> PortSocket::receive(FrameBuffers& buffers, PortCounters& counters) {
  frames_.clear();
  // An interface that goes down is told once, by ENETDOWN.
  mmsghdr* messages = buffers.messages(0);
  const auto n = static_cast<size_t>(std::max(0, recvmmsg(fd(), messages, kBatch, MSG_DONTWAIT, nullptr)));
  for (size_t i = 0; i < n; ++i) {
    if ((messages[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
      ++counters.rx_too_long;
      continue;
    }
    std::span<const uint8_t> frame(buffers.slot(i), messages[i].msg_len);
    if (const auto tag = vlan_tag_of(messages[i].msg_hdr); tag && frame.size() >= VlanTag::kAt)
      frame = {insert_vlan_tag(buffers.slot(i), *tag), frame.size() + VlanTag::kBytes};
    ++counters.rx_packets;
    counters.rx_bytes += frame.size();
    frames_.push_back(frame);
  }
  buffers.messages(n);
  return frames_;
}

void PortSocket::send(const OutBatch& frames, PortCounters& counters) const {
  std::array<mmsghdr, kBatch> messages;
  std::array<iovec, kBatch> vectors;
  const size_t count = std::min(frames.size(), kBatch);
  for (size_t i = 0; i < count; ++i) {
    const std::span<const uint8_t> frame = frames.frame(i);
    vectors[i] = {const_cast<uint8_t*>(frame.data()), frame.size()};
    messages[i] = {};
    messages[i].msg_hdr.msg_iov = &vectors[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  for (size_t done = 0; done < count;) {
    const int n = sendmmsg(fd(), messages.data() + done, static_cast<unsigned>(count - done), MSG_DONTWAIT);
    for (int i = 0; i < n; ++i) counters.tx_bytes += messages[done++].msg_len;
    if (n > 0) {
      counters.tx_packets += static_cast<uint64_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    ++dropped_for(errno, counters);
    ++done;
  }
}

}  // namespace orrery::p4
