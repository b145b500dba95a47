// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "board/sim/simulation.h"

namespace orrery::board {

// Frames through a slot by its host stream (DMA), in order.
class Stream {
 public:
  using Bytes = std::vector<uint8_t>;

  // Precondition: no frame of an earlier stream waits or is in the slot (Device::clear_host).
  Stream(Simulation& simulation, size_t slot, std::vector<Bytes> frames);

  // Discards what comes out of a slot's host stream while it is not in use.
  static void discard(Simulation& simulation, size_t slot);

  // Moves frames in and out. True when it is finished: as many frames came out as went in, or all went in and `idle`
  // says that nothing moves any more.
  bool step(bool idle);

  size_t frames() const { return input_.size(); }
  const std::vector<Bytes>& output() const { return output_; }
  // From the first beat offered to the last beat out; 0 if nothing came out.
  uint64_t board_cycles() const;

 private:
  Simulation& simulation_;
  size_t slot_;
  std::vector<Bytes> input_;
  size_t given_ = 0;
  std::vector<Bytes> output_;
  uint64_t start_cycle_;
};

}  // namespace orrery::board
