// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "support/flow_hash.h"

namespace orrery {

// Ranges that divide the space of H(f), and the gate that each leads to.
class SplitRanges {
 public:
  // `pointer`: of the array. Throws EngineError `invalid-config`.
  SplitRanges(const nlohmann::json& ranges, const std::string& pointer);

  uint16_t gate_of(uint16_t flow) const {
    // Where a range ends is hard to predict for the processor, so it is looked up and not searched for.
    const Range* range = &ranges_[first_[flow / kBlock]];
    while (flow >= range->hi) ++range;
    return range->gate;
  }

  // One more than the highest gate.
  uint32_t gates() const { return gates_; }

  nlohmann::json to_json() const;

 private:
  struct Range {
    uint32_t lo;
    uint32_t hi;
    uint16_t gate;
    uint16_t index;  // in the request
  };

  // Precondition: ascending and disjoint. Throws EngineError unless they cover the whole space.
  void require_whole(const std::string& pointer) const;

  static constexpr uint32_t kBlock = 256;

  std::vector<Range> ranges_;                          // ascending
  std::array<uint16_t, kFlowSpace / kBlock> first_{};  // by block of flows: the first range that ends in or behind it
  uint32_t gates_ = 0;
};

}  // namespace orrery
