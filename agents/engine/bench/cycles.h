// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "batch_times.h"
#include "core/engine.h"
#include "graphs.h"

namespace orrery::bench {

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Throws std::runtime_error after a minute.
inline void await(const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("too few packets come through");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Waits until the graph's batches are measured; cycles per packet.
inline double cycles_of(Engine& engine, BatchTimes& times) {
  await([&] { return times.full(); });
  engine.apply(empty_graph());
  return times.median();
}

inline double cycles_of(Engine& engine, BatchTimes& times, const nlohmann::json& graph) {
  times.clear();
  engine.apply(graph);
  return cycles_of(engine, times);
}

}  // namespace orrery::bench
