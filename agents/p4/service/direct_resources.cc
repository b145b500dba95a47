// SPDX-License-Identifier: Apache-2.0
// Counters and meters of table entries, by themselves.
#include "p4/service/arrays.h"
#include "p4/service/named_entry.h"
#include "p4/service/tables.h"

namespace orrery::p4::service {
namespace {

// Entries that a direct counter or meter entry names: one, those of a table, or those of all tables of `has`.
template <typename Visit>
void each_direct(Context& context, const pb::TableEntry& named, uint32_t TableSpec::*resource, const char* what,
                 const Visit& visit) {
  if (named.table_id() == 0) {
    for (const TableSpec& table : context.instance.catalogue.tables())
      if (table.*resource != 0) control_of(context, table).each([&](EntryHandle handle) { visit(table, handle); });
    return;
  }
  const TableSpec& table = context.instance.catalogue.table(named.table_id(), "table_entry.table_id");
  if (table.*resource == 0)
    refuse(Code::INVALID_ARGUMENT, "table_entry.table_id: " + owner_of(table) + " has no direct " + what);
  if (named.match().empty() && named.priority() == 0)
    return control_of(context, table).each([&](EntryHandle handle) { visit(table, handle); });
  visit(table, NamedEntry(context, named).handle());
}

NamedEntry direct_entry(Context& context, pb::Update::Type type, const pb::TableEntry& named,
                        uint32_t TableSpec::*resource, const char* what) {
  if (type != pb::Update::MODIFY)
    refuse(Code::INVALID_ARGUMENT, std::string("a direct ") + what + " can only be modified");
  if (named.is_default_action())
    refuse(Code::INVALID_ARGUMENT, std::string("table_entry: a default entry has no ") + what + " here");
  NamedEntry entry(context, named);
  if (entry.table.*resource == 0)
    refuse(Code::INVALID_ARGUMENT, "table_entry.table_id: " + owner_of(entry.table) + " has no direct " + what);
  return entry;
}

}  // namespace

void write_direct_counter(Context& context, pb::Update::Type type, const pb::DirectCounterEntry& entry) {
  const NamedEntry named = direct_entry(context, type, entry.table_entry(), &TableSpec::direct_counter, "counter");
  const EntryHandle handle = named.handle();
  if (entry.has_data())
    in_core("direct_counter_entry",
            [&] { named.control.set_counter(handle, counter_of(entry.data(), "direct_counter_entry.data")); });
}

void read_direct_counters(Context& context, const pb::DirectCounterEntry& filter, Responses& out) {
  each_direct(context, filter.table_entry(), &TableSpec::direct_counter, "counter",
              [&](const TableSpec& table, EntryHandle handle) {
                pb::DirectCounterEntry* entry = out.add().mutable_direct_counter_entry();
                write_key(table, control_of(context, table).entry(handle), entry->mutable_table_entry());
                write_counter(control_of(context, table).counter(handle), table.counter_unit, entry->mutable_data());
              });
}

void write_direct_meter(Context& context, pb::Update::Type type, const pb::DirectMeterEntry& entry) {
  const NamedEntry named = direct_entry(context, type, entry.table_entry(), &TableSpec::direct_meter, "meter");
  if (entry.has_counter_data())
    refuse(Code::UNIMPLEMENTED, "direct_meter_entry.counter_data: meters count no packets by colour");
  const EntryHandle handle = named.handle();
  in_core("direct_meter_entry", [&] {
    named.control.set_meter(handle,
                            entry.has_config() ? rates_of(entry.config(), "direct_meter_entry.config") : std::nullopt);
  });
}

void read_direct_meters(Context& context, const pb::DirectMeterEntry& filter, Responses& out) {
  if (filter.has_counter_data())
    refuse(Code::UNIMPLEMENTED, "direct_meter_entry.counter_data: meters count no packets by colour");
  each_direct(context, filter.table_entry(), &TableSpec::direct_meter, "meter",
              [&](const TableSpec& table, EntryHandle handle) {
                pb::DirectMeterEntry* entry = out.add().mutable_direct_meter_entry();
                write_key(table, control_of(context, table).entry(handle), entry->mutable_table_entry());
                if (const auto rates = control_of(context, table).meter(handle))
                  write_rates(*rates, entry->mutable_config());
              });
}

}  // namespace orrery::p4::service
