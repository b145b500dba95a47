// SPDX-License-Identifier: Apache-2.0
// Table entries, with their direct counters and meters.
#pragma once

#include "p4/service/instance.h"
#include "p4/service/responses.h"

namespace orrery::p4::service {

void write_table_entry(Context& context, pb::Update::Type type, const pb::TableEntry& entry);
void read_table_entries(Context& context, const pb::TableEntry& filter, Responses& out);

void write_direct_counter(Context& context, pb::Update::Type type, const pb::DirectCounterEntry& entry);
void read_direct_counters(Context& context, const pb::DirectCounterEntry& filter, Responses& out);
void write_direct_meter(Context& context, pb::Update::Type type, const pb::DirectMeterEntry& entry);
void read_direct_meters(Context& context, const pb::DirectMeterEntry& filter, Responses& out);

// The entry that an update names with all that belongs to it, as it can be written again; nothing where there is none.
std::optional<pb::TableEntry> table_entry_now(Context& context, const pb::TableEntry& named);

// What an idle time-out notification tells of an entry. Precondition: the entry is there.
void write_idle_entry(Context& context, const TableSpec& table, EntryHandle handle, pb::TableEntry* out);

}  // namespace orrery::p4::service
