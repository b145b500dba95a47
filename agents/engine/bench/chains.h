// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "core/engine.h"

namespace orrery::bench {

// What each NF costs in the engine, a chain of four, and chains in sequence and in parallel: those of HydraNF's
// Table 6.1, and of two NFs that cost more. Costs are cycles per packet, medians over full batches, beyond those of
// making and freeing the packets. Latencies are of batches that come one at a time, with two workers that never sleep.
// Each result is
// {"nf"|"chain"|"part", "bytes", "cycles"} or {"chain", "bytes", "form", "cycles"|"latency_ns": {"p10", "p50"}}.
void chains(const Eal& eal, const std::function<void(const nlohmann::json& result)>& show);

}  // namespace orrery::bench
