// SPDX-License-Identifier: Apache-2.0
// One table entry that a client names by match and priority.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "p4/service/instance.h"
#include "p4/service/table_codec.h"

namespace orrery::p4::service {

inline std::string owner_of(const TableSpec& table) {
  return "table \"" + table.name + '"';
}

inline Table& control_of(Context& context, const TableSpec& table) {
  return context.control().table(table.index);
}

// Index in Catalogue::tables.
inline size_t position_of(const Context& context, const TableSpec& table) {
  return static_cast<size_t>(&table - context.instance.catalogue.tables().data());
}

class NamedEntry {
 public:
  // Throws Failure where the table has no such entry, because of its key or priority.
  NamedEntry(Context& context, const pb::TableEntry& entry);

  // Throws Failure with NOT_FOUND.
  EntryHandle handle() const;

  const pb::TableEntry& entry;
  const TableSpec& table;
  Table& control;
  std::unordered_map<EntryHandle, EntryNotes>& notes;
  std::vector<KeyMatch> key;
};

// What names an entry.
void write_key(const TableSpec& table, const TableEntry& entry, pb::TableEntry* out);

}  // namespace orrery::p4::service
