// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/packet_socket.h"

namespace orrery::linkd {

// virtio_net_hdr of Virtual I/O Device 5.1.6.1, in the machine's byte order.
struct OffloadHeader {
  static constexpr uint8_t kNeedsChecksum = 1;

  uint8_t flags = 0;
  uint8_t gso_type = 0;  // 0: no segmentation offload
  uint16_t hdr_len = 0;
  uint16_t gso_size = 0;
  uint16_t csum_start = 0;
  uint16_t csum_offset = 0;
};

// A frame as the kernel has it: with PACKET_VNET_HDR, so that an offloaded frame stays whole and a checksum to be
// filled in stays incomplete.
struct Frame {
  OffloadHeader offload;
  std::vector<uint8_t> bytes;
  uint64_t received_ns = 0;  // monotonic, when the kernel received it

  // Bytes on a wire, including the headers of each segment.
  uint64_t wire_bytes() const;
  // Frames on a wire.
  uint64_t segments() const;
};

enum class Sent { kYes, kRefused, kGone };

// All frames of one interface in this network namespace. Needs CAP_NET_RAW, and CAP_NET_ADMIN for a large buffer.
class FrameSocket {
 public:
  // Throws std::runtime_error if there is no such interface.
  explicit FrameSocket(std::string interface);

  const std::string& interface() const { return socket_.interface(); }
  int fd() const { return socket_.fd(); }

  // Up to `most` waiting frames, oldest first. Never blocks.
  std::vector<Frame> receive(size_t most);
  Sent send(const Frame& frame);

  // Whether the interface is still the one that was opened. It may be down.
  bool present() const { return socket_.present(); }
  // Frames that did not fit into the buffer since it was opened.
  uint64_t overflow() { return socket_.overflow(); }

 private:
  PacketSocket socket_;
};

}  // namespace orrery::linkd
