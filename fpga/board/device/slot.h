// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "board/slot/module.h"

namespace orrery::board {

enum class SlotState : uint8_t { kEmpty, kQuiescing, kLoading, kConfiguring, kActive, kFaulty };

constexpr const char* to_string(SlotState state) {
  constexpr const char* kNames[] = {"empty", "quiescing", "loading", "configuring", "active", "faulty"};
  return kNames[static_cast<size_t>(state)];
}

// What happens to frames that arrive while a slot accepts none; the values are those of the shell's POLICY field.
enum class Policy : uint8_t { kHold, kDrop, kBypass };

constexpr const char* to_string(Policy policy) {
  constexpr const char* kNames[] = {"hold", "drop", "bypass"};
  return kNames[static_cast<size_t>(policy)];
}

// The shell's counters of a slot since power-on, in the order of its registers.
struct SlotCounters {
  enum Index {
    kFramesIn,
    kBytesIn,
    kFramesOut,
    kBytesOut,
    kFramesDropped,
    kBytesDropped,
    kFramesBypassed,
    kBytesBypassed,
    kFramesAborted,
    kNoHop,
    kCount,
  };
  std::array<uint64_t, kCount> value{};
};

struct Slot {
  SlotState state = SlotState::kEmpty;
  Policy policy = Policy::kDrop;
  std::optional<ModuleInfo> module;
  std::string error;
  SlotCounters counters;
  std::array<uint32_t, SlotCounters::kCount> last{};  // register values at the last reading
};

}  // namespace orrery::board
