// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nfs/bytestream/stream_log.h"

namespace orrery {

// What a packet has made contiguous of the stream of one direction of a TCP connection (E2 3.6.1, bytestream vports).
struct StreamView {
  uint64_t stream = 0;             // no other has this number; 0: the packet is of no stream that is followed
  const StreamLog* log = nullptr;  // where the bytes are; null: in the packet's payload
  uint64_t position = 0;           // in the log
  uint32_t sequence = 0;           // of the first byte
  uint32_t length = 0;             // 0: the packet brought nothing that is contiguous yet, or nothing new
  uint16_t skipped = 0;            // payload bytes in front of the first, where they are in the payload
  bool gap = false;                // bytes in front of the first were given up
  bool ends = false;               // the stream ends behind the last byte

  // Whether the bytes are the payload, neither more nor less.
  bool is_payload(uint16_t payload_length) const {
    return stream != 0 && log == nullptr && skipped == 0 && length == payload_length;
  }

  // The bytes, for as long as payload and `room` stay as they are. False: they are gone. Precondition: the payload is
  // that of the packet.
  bool bytes(std::span<const uint8_t> payload, std::vector<uint8_t>& room, std::span<const uint8_t>& out) const {
    if (log == nullptr) {
      if (payload.size() < size_t{skipped} + length) return false;
      out = payload.subspan(skipped, length);
      return true;
    }
    room.resize(length);
    out = room;
    return log->read(position, room);
  }
};

}  // namespace orrery
