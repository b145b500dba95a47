// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "linkd/frame_socket.h"
#include "linkd/line.h"

namespace orrery::linkd {

// Frames; each segment of an offloaded frame counts as one. All counters start when the link is created.
struct Counters {
  uint64_t frames = 0;  // sent at the far end
  uint64_t bytes = 0;
  uint64_t lost = 0;         // by random loss
  uint64_t queue_drops = 0;  // no room in the queue
  uint64_t memory_drops = 0;
  uint64_t refused = 0;  // rejected by the interface at the far end
};

// Reads frames from one socket and sends them to the other when they are due.
class Direction {
 public:
  // Limit of the bytes held in one direction.
  static constexpr uint64_t kHeldMax = 64 << 20;

  Direction(FrameSocket& from, FrameSocket& to, LineSettings settings, uint64_t seed)
      : from_(from), to_(to), line_(settings, seed) {}

  // Reads at most one batch of the frames waiting at the socket.
  void take_in();
  // Sends the frames that are due.
  void send_due(uint64_t now_ns);
  std::optional<uint64_t> next_ns() const;

  void change(LineSettings settings) { line_.change(settings); }
  Counters counters();

 private:
  struct Held {
    uint64_t arrival_ns;
    Frame frame;
  };

  FrameSocket& from_;
  FrameSocket& to_;
  Line line_;
  std::deque<Held> held_;
  uint64_t held_bytes_ = 0;
  Counters counters_;
};

}  // namespace orrery::linkd
