// SPDX-License-Identifier: Apache-2.0
#include "board/sim/shell_build.h"

#include <stdexcept>
#include <string>

namespace orrery::board {

// SHELL_TABLES, defined by the build: one X(name) per shell.
#define X(table) extern const ShellBuild table;
SHELL_TABLES
#undef X

const ShellBuild& shell_build(size_t slots, uint32_t clock_mhz) {
#define X(table) &(table),
  for (const ShellBuild* build : {SHELL_TABLES})
    if (build->slots == slots && build->clock_mhz == clock_mhz) return *build;
#undef X
  throw std::runtime_error("no shell was built for " + std::to_string(slots) + " slots at " +
                           std::to_string(clock_mhz) + " MHz");
}

}  // namespace orrery::board
