// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "board/device/device.h"
#include "board/io/ports.h"

namespace orrery::board {

// What happened to the frames that arrived for a slot while it accepted none.
struct InterruptionCount {
  uint64_t held = 0;
  uint64_t lost = 0;
  uint64_t bypassed = 0;
};

// Counts from quiesce to resume.
class Interruption {
 public:
  Interruption(Device& device, Ports& ports, size_t slot)
      : device_(device), ports_(ports), slot_(slot), start_(counts()) {}

  InterruptionCount so_far() {
    InterruptionCount now = counts();
    now.lost -= start_.lost;
    now.bypassed -= start_.bypassed;
    return now;
  }

 private:
  InterruptionCount counts() {
    device_.update_counters();
    const auto& value = device_.slot(slot_).counters.value;
    // Under other policies frames wait for no more than the turn that drops or passes them.
    const bool hold = device_.slot(slot_).policy == Policy::kHold;
    return {hold ? ports_.backlog(device_.simulation(), slot_) : 0,
            value[SlotCounters::kFramesDropped] + ports_.lost(slot_), value[SlotCounters::kFramesBypassed]};
  }

  Device& device_;
  Ports& ports_;
  const size_t slot_;
  InterruptionCount start_;
};

}  // namespace orrery::board
