// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace orrery::flows {

inline constexpr uint64_t kMs = 1'000'000;  // in nanoseconds

}  // namespace orrery::flows
