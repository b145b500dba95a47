// SPDX-License-Identifier: Apache-2.0
#include "board/device/table.h"

#include <algorithm>

namespace orrery::board {
namespace {

constexpr uint32_t kRead = 1u << 28, kPut = 2u << 28;
constexpr uint32_t kBusy = 1, kValid = 2, kFull = 4;
// Polls of TABLE_STATUS: a clear of the whole table may be in progress.
constexpr int kPolls = 10'000;
constexpr uint32_t kDdosDetector = 0x44445331;  // DDS1
constexpr size_t kDdosCounters = 1024;

// TABLE_STATUS after the command; nullopt if the module does not finish it.
std::optional<uint32_t> command(Device& device, size_t slot, uint32_t word) {
  if (!device.write(slot, reg::kTableCommand, word)) return {};
  for (int i = 0; i < kPolls; ++i) {
    const auto status = device.read(slot, reg::kTableStatus);
    if (!status || (*status & kBusy) == 0) return status;
  }
  return {};
}

uint16_t data(size_t word) {
  return static_cast<uint16_t>(reg::kTableData + 4 * word);
}

}  // namespace

size_t table_places(const ModuleInfo& module) {
  return module.id == kDdosDetector ? kDdosCounters : kTableEntries;
}

std::optional<bool> TableExport::step(Device& device, size_t indexes) {
  const size_t end = std::min(index_ + indexes, places_);
  for (; index_ < end && entries_.size() < max_; ++index_) {
    const auto status = command(device, slot_, kRead | static_cast<uint32_t>(index_));
    if (!status) return {};
    if ((*status & kValid) != 0) {
      TableEntry& entry = entries_.emplace_back();
      for (size_t word = 0; word < entry.size(); ++word) {
        const auto value = device.read(slot_, data(word));
        if (!value) return {};
        entry[word] = *value;
      }
    }
  }
  return index_ < places_ && entries_.size() < max_;
}

std::optional<TableImport> import_table(Device& device, size_t slot, std::span<const TableEntry> entries) {
  TableImport out;
  for (const TableEntry& entry : entries) {
    for (size_t word = 0; word < entry.size(); ++word)
      if (!device.write(slot, data(word), entry[word])) return {};
    const auto status = command(device, slot, kPut);
    if (!status) return {};
    out.imported += (*status & kValid) != 0;
    out.refused += (*status & kFull) != 0;
  }
  return out;
}

}  // namespace orrery::board
