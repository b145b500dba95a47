// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

namespace orrery::linkd {

// One direction of a link.
struct LineSettings {
  double rate_bps = 0;
  uint64_t delay_ns = 0;
  uint64_t jitter_ns = 0;    // the delay of a frame is uniform within delay_ns +- jitter_ns; at most delay_ns
  double loss = 0;           // probability that a frame is lost
  uint64_t queue_bytes = 0;  // limit of the queue in front of the rate limiter

  bool operator==(const LineSettings&) const = default;
};

enum class Fate { kArrives, kLost, kQueueFull };

struct Verdict {
  Fate fate;
  uint64_t arrival_ns;  // at the other end; valid with Fate::kArrives
};

// When a frame that enters a line leaves it: after a queue, serialization at the rate, loss, and the delay. Frames
// leave in order of arrival; frames already on the line when settings change keep their time.
class Line {
 public:
  Line(LineSettings settings, uint64_t seed) : settings_(settings), random_(seed) {}

  // A `now_ns` in the past counts as the latest one before.
  Verdict enter(uint64_t now_ns, uint64_t bytes);

  void change(LineSettings settings) { settings_ = settings; }
  const LineSettings& settings() const { return settings_; }

 private:
  uint64_t delay();

  LineSettings settings_;
  std::mt19937_64 random_;
  uint64_t latest_ns_ = 0;
  uint64_t idle_from_ns_ = 0;  // when the transmitter becomes idle
  uint64_t last_arrival_ns_ = 0;
};

}  // namespace orrery::linkd
