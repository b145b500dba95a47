// SPDX-License-Identifier: Apache-2.0
// Flow state on its way between two instances: one array of numbers a flow.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nfs/config_reader.h"

namespace orrery {

// Most flows in an export, so that it fits into a line of the control protocol; the youngest go.
inline constexpr size_t kMaxExportedFlows = 65536;
inline constexpr uint64_t kMaxAgeMs = 86'400'000'000;

inline uint64_t age_ms(uint64_t now_ns, uint64_t then_ns) {
  return now_ns > then_ns ? (now_ns - then_ns) / 1'000'000u : 0;
}
inline uint64_t time_at_age(uint64_t now_ns, uint64_t age_ms) {
  return now_ns > age_ms * 1'000'000u ? now_ns - age_ms * 1'000'000u : 0;
}

// Rows of N integers, each at most its `max`. Throws ConfigError that points to the bad one.
template <size_t N>
std::vector<std::array<uint64_t, N>> read_rows(const nlohmann::json::array_t& rows, const std::string& pointer,
                                               const uint64_t (&max)[N]) {
  std::vector<std::array<uint64_t, N>> out(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string row_pointer = pointer + '/' + std::to_string(i);
    if (!rows[i].is_array() || rows[i].size() != N)
      throw ConfigError(row_pointer, "must be an array of " + std::to_string(N) + " numbers");
    for (size_t n = 0; n < N; ++n) {
      const auto value = as_integer(rows[i][n]);
      if (!value || *value > max[n])
        throw ConfigError(row_pointer + '/' + std::to_string(n),
                          "must be an integer from 0 to " + std::to_string(max[n]));
      out[i][n] = *value;
    }
  }
  return out;
}

}  // namespace orrery
