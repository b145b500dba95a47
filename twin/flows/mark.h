// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "support/checksum.h"

namespace orrery::flows {

// What a packet of a generator carries at the beginning of its payload, in network byte order.
struct Mark {
  static constexpr size_t kBytes = 32;
  static constexpr uint32_t kMagic = 0x4f72466c;
  static constexpr uint32_t kLast = 0x80000000;  // in the word of `number`

  uint32_t session = 0;   // of the generator's run
  uint32_t flow = 0;      // in the session, from 0
  uint32_t number = 0;    // in the flow, from 0; less than kLast
  bool last = false;      // of the flow
  uint64_t sequence = 0;  // in the session, from 0
  uint64_t sent_ns = 0;   // monotonic

  void store(uint8_t* at) const {
    store_be32(at, kMagic);
    store_be32(at + 4, session);
    store_be32(at + 8, flow);
    store_be32(at + 12, number | (last ? kLast : 0));
    store_be64(at + 16, sequence);
    store_be64(at + 24, sent_ns);
  }

  // Nothing where the bytes are no mark.
  static std::optional<Mark> load(std::span<const uint8_t> bytes) {
    if (bytes.size() < kBytes || load_be32(bytes.data()) != kMagic) return std::nullopt;
    const uint32_t number = load_be32(&bytes[12]);
    return Mark{load_be32(&bytes[4]),  load_be32(&bytes[8]),  number & ~kLast,
                (number & kLast) != 0, load_be64(&bytes[16]), load_be64(&bytes[24])};
  }
};

}  // namespace orrery::flows
