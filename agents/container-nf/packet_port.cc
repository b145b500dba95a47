// SPDX-License-Identifier: Apache-2.0
#include "container-nf/packet_port.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/checksum.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace orrery::container_nf {
namespace {

// Room for an Ethernet MTU with a VLAN tag behind the kernel's header. So many frames may come while the program waits
// for its turn on a busy machine (4 MiB an interface, which no limit of the socket's buffers cuts).
constexpr size_t kSlotBytes = 2048;
constexpr size_t kSlots = 2048;
constexpr size_t kBlockBytes = size_t{64} * 1024;
constexpr size_t kRingBytes = kSlots * kSlotBytes;

constexpr uint32_t kTagBytes = 4;
constexpr size_t kTagAt = 12;

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

// Puts back the 802.1Q tag that the kernel keeps beside a frame.
void insert_tag(Frame& frame, uint16_t tpid, uint16_t tci) {
  frame.data -= kTagBytes;
  frame.length += kTagBytes;
  std::memmove(frame.data, frame.data + kTagBytes, kTagAt);
  store_be16(frame.data + kTagAt, tpid);
  store_be16(frame.data + kTagAt + 2, tci);
}

}  // namespace

PacketPort::PacketPort(std::string interface) : interface_(std::move(interface)) {
  frames_.reserve(kBatch);
  // Protocol 0: nothing arrives before bind() says from where.
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail("packet socket");
  try {
    set(fd_, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
    map_ring();
    bind_to_interface();
  } catch (...) {
    if (ring_ != nullptr) munmap(ring_, kRingBytes);
    close(fd_);
    throw;
  }
}

PacketPort::~PacketPort() {
  munmap(ring_, kRingBytes);
  close(fd_);
}

void PacketPort::map_ring() {
  set(fd_, PACKET_VERSION, int{TPACKET_V2}, "PACKET_VERSION");
  set(fd_, PACKET_RESERVE, kTagBytes + kFrameHeadroom, "PACKET_RESERVE");
  const tpacket_req request{.tp_block_size = kBlockBytes,
                            .tp_block_nr = kRingBytes / kBlockBytes,
                            .tp_frame_size = kSlotBytes,
                            .tp_frame_nr = kSlots};
  set(fd_, PACKET_RX_RING, request, "receive ring");
  void* ring = mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (ring == MAP_FAILED) fail("receive ring");
  ring_ = static_cast<uint8_t*>(ring);
}

void PacketPort::bind_to_interface() {
  index_ = if_nametoindex(interface_.c_str());
  if (index_ == 0) throw std::runtime_error("there is no interface " + interface_);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(index_);
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) fail("interface " + interface_);
  // Frames on their way to a hop carry a destination address that no interface has.
  packet_mreq all{};
  all.mr_ifindex = static_cast<int>(index_);
  all.mr_type = PACKET_MR_PROMISC;
  set(fd_, PACKET_ADD_MEMBERSHIP, all, "promiscuous mode");
}

void PacketPort::clear_error() {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
}

bool PacketPort::present() const {
  return if_nametoindex(interface_.c_str()) == index_;
}

uint8_t* PacketPort::slot(size_t index) const {
  return ring_ + index % kSlots * kSlotBytes;
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
    if ((status & TP_STATUS_VLAN_VALID) != 0 && frame.length >= kTagAt)
      insert_tag(frame, (status & TP_STATUS_VLAN_TPID_VALID) != 0 ? header.tp_vlan_tpid : uint16_t{ETH_P_8021Q},
                 header.tp_vlan_tci);
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
    const int n = sendmmsg(fd_, messages + done, static_cast<unsigned>(frames.size() - done), MSG_DONTWAIT);
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
  tpacket_stats kernel{};
  socklen_t length = sizeof(kernel);
  // Reading resets the kernel's counter.
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &kernel, &length) == 0) drops_.rx_full += kernel.tp_drops;
  return drops_;
}

}  // namespace orrery::container_nf
