// SPDX-License-Identifier: Apache-2.0
#include "container-nf/packet_port.h"

#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace orrery::container_nf {
namespace {

// Room for an Ethernet MTU with a VLAN tag behind the kernel's header. So many frames may come while the program waits
// for its turn on a busy machine (4 MiB an interface, which no limit of the socket's buffers cuts).
constexpr size_t kSlotBytes = 2048;
constexpr size_t kSlots = 2048;
constexpr size_t kBlockBytes = size_t{64} * 1024;
constexpr size_t kRingBytes = kSlots * kSlotBytes;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

template <typename T>
void set(int fd, int option, const T& value, const char* name) {
  if (setsockopt(fd, SOL_PACKET, option, &value, sizeof(value)) != 0) fail(name);
}

std::atomic_ref<uint32_t> status_of(tpacket2_hdr& header) {
  return std::atomic_ref<uint32_t>(header.tp_status);
}

}  // namespace

PacketPort::PacketPort(std::string interface) : socket_(std::move(interface), [this](int fd) { map_ring(fd); }) {
  frames_.reserve(kBatch);
}

void PacketPort::Unmap::operator()(uint8_t* ring) const {
  munmap(ring, kRingBytes);
}

void PacketPort::map_ring(int fd) {
  set(fd, PACKET_VERSION, int{TPACKET_V2}, "PACKET_VERSION");
  set(fd, PACKET_RESERVE, static_cast<unsigned>(VlanTag::kBytes + kFrameHeadroom), "PACKET_RESERVE");
  const tpacket_req request{.tp_block_size = kBlockBytes,
                            .tp_block_nr = kRingBytes / kBlockBytes,
                            .tp_frame_size = kSlotBytes,
                            .tp_frame_nr = kSlots};
  set(fd, PACKET_RX_RING, request, "receive ring");
  void* ring = mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (ring == MAP_FAILED) fail("receive ring");
  ring_.reset(static_cast<uint8_t*>(ring));
}

uint8_t* PacketPort::slot(size_t index) const {
  return ring_.get() + index % kSlots * kSlotBytes;
}

std::span<const Frame> PacketPort::receive() {
  frames_.clear();
  for (; taken_ < kBatch; ++taken_) {
    uint8_t* begin = slot(head_ + taken_);
    auto& header = *reinterpret_cast<tpacket2_hdr*>(begin);
    const uint32_t status = status_of(header).load(std::memory_order_acquire);
    if ((status & TP_STATUS_USER) == 0) break;
    if (header.tp_snaplen < header.tp_len) {
      ++drops_.oversize;
      continue;
    }
    const auto tailroom = static_cast<uint32_t>(kSlotBytes - header.tp_mac - header.tp_snaplen);
    Frame& frame = frames_.emplace_back(Frame{begin + header.tp_mac, header.tp_snaplen, tailroom});
    if (const auto tag = vlan_tag_of(status, header.tp_vlan_tpid, header.tp_vlan_tci);
        tag && frame.length >= VlanTag::kAt) {
      frame.data = insert_vlan_tag(frame.data, *tag);
      frame.length += VlanTag::kBytes;
    }
  }
  return frames_;
}

void PacketPort::release() {
  for (; taken_ > 0; --taken_, ++head_)
    status_of(*reinterpret_cast<tpacket2_hdr*>(slot(head_))).store(TP_STATUS_KERNEL, std::memory_order_release);
}

Sent PacketPort::send(std::span<const Frame> frames) {
  mmsghdr messages[kBatch];
  iovec vectors[kBatch];
  for (size_t i = 0; i < frames.size(); ++i) {
    vectors[i] = {frames[i].data, frames[i].length};
    messages[i] = {};
    messages[i].msg_hdr.msg_iov = &vectors[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  Sent sent;
  for (size_t done = 0; done < frames.size();) {
    const int n = sendmmsg(fd(), messages + done, static_cast<unsigned>(frames.size() - done), MSG_DONTWAIT);
    for (int i = 0; i < n; ++i) sent.bytes += messages[done++].msg_len;
    if (n > 0) {
      sent.packets += static_cast<uint64_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    ++(errno == EMSGSIZE ? drops_.oversize : errno == EAGAIN || errno == ENOBUFS ? drops_.tx_full : drops_.link_down);
    ++done;
  }
  return sent;
}

const PortDrops& PacketPort::drops() {
  drops_.rx_full = socket_.overflow();
  return drops_;
}

}  // namespace orrery::container_nf
