// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "board/image/uuid.h"
#include "board/sim/shell.h"

namespace orrery::board {

// The shell, Verilated with specific parameters.
struct ShellBuild {
  uint32_t slots;
  uint32_t clock_mhz;
  Uuid uuid;  // of its sources and parameters
  std::unique_ptr<Shell> (*make)();
};

// Throws std::runtime_error if none was built with these parameters.
const ShellBuild& shell_build(size_t slots, uint32_t clock_mhz);

}  // namespace orrery::board
