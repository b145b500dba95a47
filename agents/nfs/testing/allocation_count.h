// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace orrery::testing {

// How often operator new was called in this program.
uint64_t allocation_count();

}  // namespace orrery::testing
