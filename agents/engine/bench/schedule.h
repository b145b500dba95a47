// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace orrery::bench {

// What a schedule spends on a run: to choose the task and to take note of what it has used.
struct ScheduleCost {
  std::string schedule;
  uint32_t tasks;
  uint32_t backlogged;  // of them; the others are idle
  double cycles;        // of the time stamp counter, a run
};

// Measures schedules alone, over tasks that do nothing; medians.
void schedule(const std::function<void(const ScheduleCost& cost)>& show);

}  // namespace orrery::bench
