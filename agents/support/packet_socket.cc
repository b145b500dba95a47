// SPDX-License-Identifier: Apache-2.0
#include "support/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/checksum.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace orrery {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

template <typename T>
void set(int fd, int level, int option, const T& value, const char* name) {
  if (setsockopt(fd, level, option, &value, sizeof(value)) != 0) fail(name);
}

}  // namespace

std::optional<VlanTag> vlan_tag_of(uint32_t status, uint16_t tpid, uint16_t tci) {
  if ((status & TP_STATUS_VLAN_VALID) == 0) return std::nullopt;
  return VlanTag{(status & TP_STATUS_VLAN_TPID_VALID) != 0 ? tpid : uint16_t{ETH_P_8021Q}, tci};
}

std::optional<VlanTag> vlan_tag_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata extra{};
    std::memcpy(&extra, CMSG_DATA(part), sizeof(extra));
    return vlan_tag_of(extra.tp_status, extra.tp_vlan_tpid, extra.tp_vlan_tci);
  }
  return std::nullopt;
}

uint8_t* insert_vlan_tag(uint8_t* frame, VlanTag tag) {
  uint8_t* begin = frame - VlanTag::kBytes;
  std::memmove(begin, frame, VlanTag::kAt);
  store_be16(begin + VlanTag::kAt, tag.tpid);
  store_be16(begin + VlanTag::kAt + 2, tag.tci);
  return begin;
}

void enlarge_buffers(int fd, int bytes) {
  for (const int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE}) set(fd, SOL_SOCKET, option, bytes, "socket buffer");
}

PacketSocket::PacketSocket(std::string interface, const std::function<void(int fd)>& prepare)
    : interface_(std::move(interface)) {
  // Protocol 0: nothing arrives before bind() says from where.
  fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail("packet socket");
  try {
    set(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
    prepare(fd_);
    index_ = if_nametoindex(interface_.c_str());
    if (index_ == 0) throw std::runtime_error("there is no interface " + interface_);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(index_);
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) fail("interface " + interface_);
    // Frames are addressed to others than this interface.
    packet_mreq all{};
    all.mr_ifindex = static_cast<int>(index_);
    all.mr_type = PACKET_MR_PROMISC;
    set(fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, all, "promiscuous mode");
  } catch (...) {
    close(fd_);
    throw;
  }
}

PacketSocket::~PacketSocket() {
  close(fd_);
}

void PacketSocket::clear_error() const {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
}

bool PacketSocket::present() const {
  return if_nametoindex(interface_.c_str()) == index_;
}

uint64_t PacketSocket::overflow() {
  tpacket_stats stats{};
  socklen_t length = sizeof(stats);
  // Reading resets the kernel's count.
  if (getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0) overflow_ += stats.tp_drops;
  return overflow_;
}

}  // namespace orrery
