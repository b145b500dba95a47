// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>

namespace orrery {

// CLOCK_MONOTONIC in nanoseconds: the time base of every `now_ns`.
inline uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// Milliseconds since the Unix epoch at which the monotonic clock read `ns`.
inline double wall_ms_at(uint64_t ns) {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  const double now_ms = static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
  return now_ms - (static_cast<double>(monotonic_ns()) - static_cast<double>(ns)) / 1e6;
}

}  // namespace orrery
