// SPDX-License-Identifier: Apache-2.0
#include "board/device/stream.h"

#include <algorithm>

namespace orrery::board {

Stream::Stream(Simulation& simulation, size_t slot, std::vector<Bytes> frames)
    : simulation_(simulation), slot_(slot), input_(std::move(frames)), start_cycle_(simulation.cycles()) {
  discard(simulation_, slot_);
}

void Stream::discard(Simulation& simulation, size_t slot) {
  FrameRing& out = simulation.queue(slot, kHost).out;
  out.pop(out.size());
}

bool Stream::step(bool idle) {
  Simulation::Queue& queue = simulation_.queue(slot_, kHost);
  for (; !queue.out.empty(); queue.out.pop()) {
    const auto bytes = queue.out.front().view();
    output_.emplace_back(bytes.begin(), bytes.end());
  }
  const bool all_given = given_ == input_.size();
  for (; given_ < input_.size() && !queue.in.full(); ++given_) {
    Frame& frame = queue.in.back();
    frame.length = static_cast<uint16_t>(input_[given_].size());
    std::copy(input_[given_].begin(), input_[given_].end(), frame.bytes.begin());
    queue.in.push();
  }
  return all_given && (output_.size() >= input_.size() || (idle && queue.in.empty()));
}

uint64_t Stream::board_cycles() const {
  const uint64_t end = simulation_.queue(slot_, kHost).out_cycle;
  return output_.empty() || end < start_cycle_ ? 0 : end - start_cycle_ + 1;
}

}  // namespace orrery::board
