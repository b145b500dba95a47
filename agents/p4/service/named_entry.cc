// SPDX-License-Identifier: Apache-2.0
#include "p4/service/named_entry.h"

namespace orrery::p4::service {

NamedEntry::NamedEntry(Context& context, const pb::TableEntry& entry)
    : entry(entry),
      table(context.instance.catalogue.table(entry.table_id(), "table_entry.table_id")),
      control(control_of(context, table)),
      notes(context.instance.entries[position_of(context, table)]),
      key(key_of(table, entry.match(), "table_entry.match")) {
  if (table.fields.empty())
    refuse(Code::INVALID_ARGUMENT, "table_entry.match: " + owner_of(table) + " has no key, so only a default entry");
  if (entry.priority() < 0 || (entry.priority() == 0) == table.needs_priority)
    refuse(Code::INVALID_ARGUMENT, std::string("table_entry.priority: must ") +
                                       (table.needs_priority ? "be above 0" : "be 0") + " in " + owner_of(table));
}

EntryHandle NamedEntry::handle() const {
  const auto found = control.find(key, entry.priority());
  if (!found) refuse(Code::NOT_FOUND, "table_entry: " + owner_of(table) + " has no entry with this match and priority");
  return *found;
}

void write_key(const TableSpec& table, const TableEntry& entry, pb::TableEntry* out) {
  out->set_table_id(table.id);
  write_matches(table.fields, entry.key, out->mutable_match());
  out->set_priority(entry.priority);
}

}  // namespace orrery::p4::service
