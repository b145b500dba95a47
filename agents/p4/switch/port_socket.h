// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/packet_socket.h"

namespace orrery::p4 {

constexpr size_t kBatch = 64;
constexpr size_t kMostFrameBytes = 16384;

// Room for the frames of one receive(), for all ports in turn.
class FrameBuffers {
 public:
  FrameBuffers();
  FrameBuffers(const FrameBuffers&) = delete;
  FrameBuffers& operator=(const FrameBuffers&) = delete;

  // With VlanTag::kBytes in front of it that are free.
  uint8_t* slot(size_t index);
  // For recvmmsg(): of the first `used` after the call before, what it has written is renewed.
  mmsghdr* messages(size_t used);

 private:
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> ancillary_;
  std::array<iovec, kBatch> vectors_{};
  std::array<mmsghdr, kBatch> messages_{};
};

// Of one port, frames and their bytes; all count since the port was set.
struct PortCounters {
  uint64_t rx_packets = 0;
  uint64_t rx_bytes = 0;
  uint64_t tx_packets = 0;
  uint64_t tx_bytes = 0;
  uint64_t rx_full = 0;
  uint64_t rx_too_long = 0;
  uint64_t tx_full = 0;
  uint64_t tx_too_long = 0;
  uint64_t tx_runt = 0;
  uint64_t tx_down = 0;
};

// Frames that leave by one port, gathered for one system call.
class OutBatch {
 public:
  size_t size() const { return frames_.size(); }
  void add(std::span<const uint8_t> head, std::span<const uint8_t> payload);
  std::span<const uint8_t> frame(size_t index) const;
  void clear();

 private:
  struct Place {
    size_t offset;
    size_t length;
  };
  std::vector<uint8_t> bytes_;
  std::vector<Place> frames_;
};

// Frames of one interface. For the packet thread.
class PortSocket {
 public:
  // Throws std::runtime_error.
  explicit PortSocket(const std::string& interface);

  int fd() const { return socket_.fd(); }
  bool present() const { return socket_.present(); }
  void clear_error() const { socket_.clear_error(); }
  // As the kernel counts, since it was opened.
  uint64_t overflow() { return socket_.overflow(); }

  // At most kBatch of the frames that wait, the oldest first, with their VLAN tags. Never waits.
  std::span<const std::span<const uint8_t>> receive(FrameBuffers& buffers, PortCounters& counters);

  // What the interface does not take is dropped and counted. Never waits.
  void send(const OutBatch& frames, PortCounters& counters) const;

 private:
  PacketSocket socket_;
  std::vector<std::span<const uint8_t>> frames_;
};

}  // namespace orrery::p4
