// SPDX-License-Identifier: Apache-2.0
// TCP segments with flags, for tests of NFs that look at them.
#pragma once

#include "nfs/ip_frame.h"
#include "support/testing/frames.h"

namespace orrery::testing {

inline constexpr uint8_t kTcpPsh = 0x08;
inline constexpr uint8_t kTcpUrg = 0x20;

// Precondition: the frame holds a whole TCP header.
inline Frame tcp_frame(const FrameSpec& spec, uint8_t flags) {
  Frame frame = build_frame(spec);
  frame[parse_packet(frame).l4_offset + 13u] = flags;
  return frame;
}

inline Frame tcp_segment(const FrameSpec& spec, uint8_t flags, uint32_t sequence) {
  Frame frame = tcp_frame(spec, flags);
  const size_t at = parse_packet(frame).l4_offset + 4u;
  for (size_t i = 0; i < 4; ++i) frame[at + i] = static_cast<uint8_t>(sequence >> (24 - 8 * i));
  return frame;
}

// The packet that comes back from the other end.
inline FrameSpec reply_of(FrameSpec spec) {
  std::swap(spec.src, spec.dst);
  std::swap(spec.src_port, spec.dst_port);
  return spec;
}

}  // namespace orrery::testing
