// SPDX-License-Identifier: Apache-2.0
#include "linkd/line.h"

#include <algorithm>

namespace orrery::linkd {

Verdict Line::enter(uint64_t now_ns, uint64_t bytes) {
  latest_ns_ = std::max(latest_ns_, now_ns);
  const uint64_t start_ns = std::max(latest_ns_, idle_from_ns_);
  const double waiting_bytes = static_cast<double>(start_ns - latest_ns_) * settings_.rate_bps / 8e9;
  // A frame that need not wait is accepted whatever its length.
  if (waiting_bytes > 0 && waiting_bytes + static_cast<double>(bytes) > static_cast<double>(settings_.queue_bytes))
    return {Fate::kQueueFull, 0};
  idle_from_ns_ = start_ns + static_cast<uint64_t>(static_cast<double>(bytes) * 8e9 / settings_.rate_bps);
  if (settings_.loss > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < settings_.loss)
    return {Fate::kLost, 0};
  last_arrival_ns_ = std::max(last_arrival_ns_, idle_from_ns_ + delay());
  return {Fate::kArrives, last_arrival_ns_};
}

uint64_t Line::delay() {
  if (settings_.jitter_ns == 0) return settings_.delay_ns;
  const uint64_t jitter_ns = std::min(settings_.jitter_ns, settings_.delay_ns);
  return settings_.delay_ns - jitter_ns + std::uniform_int_distribution<uint64_t>(0, 2 * jitter_ns)(random_);
}

}  // namespace orrery::linkd
