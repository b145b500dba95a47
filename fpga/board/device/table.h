// SPDX-License-Identifier: Apache-2.0
// Access to a module's table through its TABLE_* registers (fpga/README.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "board/device/device.h"
#include "board/slot/registers.h"

namespace orrery::board {

// Size of the largest table.
inline constexpr size_t kTableEntries = 4096;

// Number of places in a module's table: a read beyond them starts again at the first.
size_t table_places(const ModuleInfo& module);

using TableEntry = std::array<uint32_t, reg::kTableWords>;

// Reads entries in order of index, in parts: frames may pass between parts and change the table. Entries that exist
// from the first part to the last are read. IN_USE is no bound: it falls when entries that were already read are freed,
// and the counters of a detector are counted at the end of a window.
class TableExport {
 public:
  TableExport(size_t slot, size_t places, size_t max) : slot_(slot), places_(places), max_(max) {}

  // Reads the next `indexes` places. Returns whether there is more to read; nullopt if the module does not answer.
  std::optional<bool> step(Device& device, size_t indexes);
  const std::vector<TableEntry>& entries() const { return entries_; }

 private:
  size_t slot_;
  size_t places_;
  size_t max_;
  size_t index_ = 0;
  std::vector<TableEntry> entries_;
};

struct TableImport {
  size_t imported = 0;
  size_t refused = 0;  // entries for which the table had no room
};

// Nullopt if the module does not answer. A module without a table neither stores nor refuses entries.
std::optional<TableImport> import_table(Device& device, size_t slot, std::span<const TableEntry> entries);

}  // namespace orrery::board
