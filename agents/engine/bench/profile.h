// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "core/engine.h"

namespace orrery::bench {

// What the engine itself spends on a packet of full batches, in cycles of the time stamp counter.
struct PartCost {
  std::string part;
  uint16_t bytes;
  double cycles;
};

// Interfaces of a veth pair between the engine and the far end that stands for a board.
struct VethPair {
  std::string engine;
  std::string board;
};

// Measures each part by the difference between a graph with it and one without, medians of many batches. The
// way to a board and back, part `look-aside`, is measured only with a pair. Throws EngineError, std::runtime_error.
void profile(const Eal& eal, const VethPair* board, const std::function<void(const PartCost& cost)>& show);

}  // namespace orrery::bench
