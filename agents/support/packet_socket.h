// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace orrery {

// 802.1Q tag, which the kernel keeps beside a frame.
struct VlanTag {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kAt = 12;  // in the frame

  uint16_t tpid = 0;
  uint16_t tci = 0;
};

// Of a frame with this status (TP_STATUS_VLAN_VALID and so on) in a ring or beside a message.
std::optional<VlanTag> vlan_tag_of(uint32_t status, uint16_t tpid, uint16_t tci);

// Of a message that was received with PACKET_AUXDATA.
std::optional<VlanTag> vlan_tag_of(msghdr& message);

// Moves the addresses of a frame to VlanTag::kBytes in front of it and puts the tag behind them. Precondition: so many
// bytes are free there, and the frame has VlanTag::kAt bytes. Returns the new begin of the frame.
uint8_t* insert_vlan_tag(uint8_t* frame, VlanTag tag);

// Enlarges the buffers of a socket beyond the limits of the system. Needs CAP_NET_ADMIN. Throws std::runtime_error.
void enlarge_buffers(int fd, int bytes);

// A non-blocking packet socket with all frames of one interface of this network namespace, but those that go out by
// it. Needs CAP_NET_RAW.
class PacketSocket {
 public:
  // `prepare` makes the socket ready before the first frame comes. Throws std::runtime_error where there is no such
  // interface or no right to a packet socket, and what `prepare` throws.
  PacketSocket(std::string interface, const std::function<void(int fd)>& prepare);
  ~PacketSocket();
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;

  const std::string& interface() const { return interface_; }
  int fd() const { return fd_; }

  // The socket is in error after the interface went down, until then.
  void clear_error() const;

  // Whether the interface is still the one that was opened. It may be down.
  bool present() const;

  // Frames that found no room since it was opened.
  uint64_t overflow();

 private:
  std::string interface_;
  int fd_ = -1;
  unsigned index_ = 0;
  uint64_t overflow_ = 0;
};

}  // namespace orrery
