// SPDX-License-Identifier: Apache-2.0
#include "linkd/direction.h"

namespace orrery::linkd {
namespace {

// Frames taken from one socket before the next has its turn.
constexpr size_t kBatch = 32;

}  // namespace

void Direction::take_in() {
  for (Frame& frame : from_.receive(kBatch)) {
    const uint64_t segments = frame.segments();
    if (held_bytes_ + frame.bytes.size() > kHeldMax) {
      counters_.memory_drops += segments;
      continue;
    }
    const Verdict verdict = line_.enter(frame.received_ns, frame.wire_bytes());
    switch (verdict.fate) {
      case Fate::kLost:
        counters_.lost += segments;
        break;
      case Fate::kQueueFull:
        counters_.queue_drops += segments;
        break;
      case Fate::kArrives:
        held_bytes_ += frame.bytes.size();
        held_.push_back({verdict.arrival_ns, std::move(frame)});
        break;
    }
  }
}

void Direction::send_due(uint64_t now_ns) {
  while (!held_.empty() && held_.front().arrival_ns <= now_ns) {
    const Frame& frame = held_.front().frame;
    if (to_.send(frame) == Sent::kYes) {
      counters_.frames += frame.segments();
      counters_.bytes += frame.wire_bytes();
    } else {
      counters_.refused += frame.segments();
    }
    held_bytes_ -= frame.bytes.size();
    held_.pop_front();
  }
}

std::optional<uint64_t> Direction::next_ns() const {
  if (held_.empty()) return std::nullopt;
  return held_.front().arrival_ns;
}

Counters Direction::counters() {
  Counters told = counters_;
  told.memory_drops += from_.overflow();
  return told;
}

}  // namespace orrery::linkd
