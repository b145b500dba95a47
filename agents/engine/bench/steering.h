// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/eal.h"

namespace orrery::bench {

// What `hash_split` spends on a packet, with all that it takes to send it to one of two gates.
struct SteeringCost {
  std::string split;
  uint32_t flows = 0;
  double cycles = 0;
  double change_us = 0;  // that the change of ranges took which made the exceptions; 0: there was none
  double pause_us = 0;   // the longest that it kept the worker, by the CPU time of the control thread
};

// Measures plain ranges, tracked flows and exceptions, each for `seconds`. Only those with `only` in their name.
// Throws EngineError.
void steering(const Eal& eal, std::string_view only, double seconds,
              const std::function<void(const SteeringCost& cost)>& show);

}  // namespace orrery::bench
