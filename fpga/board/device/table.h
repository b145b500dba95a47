// SPDX-License-Identifier: Apache-2.0
// A module's table by its TABLE_* registers (fpga/README.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "board/device/device.h"
#include "board/slot/registers.h"

namespace orrery::board {

// Of the largest table.
inline constexpr size_t kTableEntries = 4096;

// Places of a module's table: past them a read begins again at the first one.
size_t table_places(const ModuleInfo& module);

using TableEntry = std::array<uint32_t, reg::kTableWords>;

// Reads entries in the order of their index, a part at a time: frames may go on between parts, and change the table.
// What is there from the first part to the last is read. IN_USE bounds nothing: it falls with entries that were read
// and then freed, and the counters of a detector are counted at the end of a window.
class TableExport {
 public:
  TableExport(size_t slot, size_t places, size_t max) : slot_(slot), places_(places), max_(max) {}

  // Looks at the next `indexes` places. Whether more is to be read; nothing where the module does not answer.
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
  size_t refused = 0;  // the table had no room
};

// Nothing where the module does not answer. A module without a table neither takes nor refuses entries.
std::optional<TableImport> import_table(Device& device, size_t slot, std::span<const TableEntry> entries);

}  // namespace orrery::board
