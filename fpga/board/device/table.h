// SPDX-License-Identifier: Apache-2.0
// A module's table by its TABLE_* registers (fpga/README.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "board/device/device.h"
#include "board/slot/registers.h"

namespace orrery::board {

inline constexpr size_t kTableEntries = 4096;

using TableEntry = std::array<uint32_t, reg::kTableWords>;

// Entries in the order of their index, at most `max`. Nothing where the module does not answer.
std::optional<std::vector<TableEntry>> export_table(Device& device, size_t slot, size_t max);

struct TableImport {
  size_t imported = 0;
  size_t refused = 0;  // the table had no room
};

std::optional<TableImport> import_table(Device& device, size_t slot, const std::vector<TableEntry>& entries);

}  // namespace orrery::board
