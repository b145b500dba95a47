// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/packet_socket.h"

namespace orrery::container_nf {

// So many frames are received, given to the NF and sent at a time.
constexpr size_t kBatch = 32;

// With kFrameHeadroom writable bytes in front, if it was received.
struct Frame {
  uint8_t* data;
  uint32_t length;
  uint32_t tailroom = 0;  // writable bytes behind
};

constexpr uint16_t kFrameHeadroom = 64;

struct Sent {
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

// Frames; all count since the start.
struct PortDrops {
  uint64_t rx_full = 0;    // came while the ring was full
  uint64_t oversize = 0;   // longer than the ring's slots or than the interface takes
  uint64_t tx_full = 0;    // the interface took no more
  uint64_t link_down = 0;  // sent while the interface was down
};

// One interface of this network namespace through a packet socket. Received frames lie in a ring that is shared with
// the kernel, are rewritten there and sent from there. Needs CAP_NET_RAW and nothing else.
class PacketPort {
 public:
  // Throws std::runtime_error where there is no such interface or no right to a packet socket.
  explicit PacketPort(std::string interface);

  const std::string& interface() const { return socket_.interface(); }

  // Readable while frames wait; in error after the interface went down, until clear_error().
  int fd() const { return socket_.fd(); }
  void clear_error() const { socket_.clear_error(); }

  // Whether the interface is still the one that was opened. It may be down.
  bool present() const { return socket_.present(); }

  // At most kBatch of the frames that wait, the oldest first, with their 802.1Q tag; empty when none waits. They are
  // the caller's until release(), which is due before the next receive().
  std::span<const Frame> receive();
  void release();

  // Sends at most kBatch frames. What the interface does not take is dropped and counted. Never waits.
  Sent send(std::span<const Frame> frames);

  const PortDrops& drops();

 private:
  struct Unmap {
    void operator()(uint8_t* ring) const;
  };

  void map_ring(int fd);
  uint8_t* slot(size_t index) const;

  std::unique_ptr<uint8_t, Unmap> ring_;
  PacketSocket socket_;
  size_t head_ = 0;   // slot that is looked at next
  size_t taken_ = 0;  // slots behind the head that are the caller's
  std::vector<Frame> frames_;
  PortDrops drops_;
};

}  // namespace orrery::container_nf
