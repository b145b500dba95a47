// SPDX-License-Identifier: Apache-2.0
#include "p4/service/tables.h"

#include "p4/service/arrays.h"
#include "p4/service/named_entry.h"
#include "p4/service/profiles.h"
#include "p4/service/values.h"

namespace orrery::p4::service {
namespace {

const std::string kField = "table_entry";

void check_direct_resources(const TableSpec& table, const pb::TableEntry& entry) {
  const auto without = [&](const char* member, const char* what) {
    refuse(Code::INVALID_ARGUMENT, kField + member + ": " + owner_of(table) + " has no direct " + what);
  };
  if (entry.has_counter_data() && table.direct_counter == 0) without(".counter_data", "counter");
  if (entry.has_meter_config() && table.direct_meter == 0) without(".meter_config", "meter");
  if (entry.has_meter_counter_data())
    refuse(Code::UNIMPLEMENTED, kField + ".meter_counter_data: meters count no packets by colour");
}

void check_writable(const TableSpec& table, const pb::TableEntry& entry) {
  if (entry.is_const()) refuse(Code::INVALID_ARGUMENT, kField + ".is_const: must be false in a write");
  check_direct_resources(table, entry);
  if (entry.idle_timeout_ns() < 0) refuse(Code::INVALID_ARGUMENT, kField + ".idle_timeout_ns: must not be negative");
  if (entry.has_time_since_last_hit())
    refuse(Code::INVALID_ARGUMENT, kField + ".time_since_last_hit: must not be set in a write");
  if (entry.idle_timeout_ns() != 0 && !table.has_idle_timeout)
    refuse(Code::INVALID_ARGUMENT, kField + ".idle_timeout_ns: " + owner_of(table) + " has no idle timeout");
}

void keep_notes(std::unordered_map<EntryHandle, EntryNotes>& all, EntryHandle handle, EntryNotes&& notes) {
  if (notes.empty())
    all.erase(handle);
  else
    all[handle] = std::move(notes);
}

EntryNotes notes_of(const pb::TableEntry& entry) {
  return {.controller_metadata = entry.controller_metadata(), .metadata = entry.metadata(), .one_shot = {}};
}

void set_direct(NamedEntry& named, EntryHandle handle) {
  if (named.table.direct_meter != 0)
    named.control.set_meter(handle, named.entry.has_meter_config()
                                        ? rates_of(named.entry.meter_config(), kField + ".meter_config")
                                        : std::nullopt);
  if (named.entry.has_counter_data())
    named.control.set_counter(handle, counter_of(named.entry.counter_data(), kField + ".counter_data"));
}

// Values that would be refused only after the entry has changed.
void check_direct_values(const pb::TableEntry& entry) {
  if (entry.has_meter_config()) rates_of(entry.meter_config(), kField + ".meter_config");
  if (entry.has_counter_data()) counter_of(entry.counter_data(), kField + ".counter_data");
}

void insert(Context& context, const pb::TableEntry& entry) {
  NamedEntry named(context, entry);
  if (named.table.is_constant)
    refuse(Code::PERMISSION_DENIED, kField + ": the entries of " + owner_of(named.table) + " are constant");
  check_writable(named.table, entry);
  check_direct_values(entry);
  if (!entry.has_action()) refuse(Code::INVALID_ARGUMENT, kField + ".action: is missing");
  EntryNotes notes = notes_of(entry);
  TableEntry made{.key = std::move(named.key),
                  .priority = entry.priority(),
                  .action = action_of(context, named.table, entry.action(), notes.one_shot),
                  .idle_timeout_ns = static_cast<uint64_t>(entry.idle_timeout_ns())};
  EntryHandle handle = 0;
  try {
    handle = in_core(kField, [&] { return named.control.insert(made, context.now_ns); });
  } catch (...) {
    if (notes.one_shot) remove_one_shot(context, named.table, *notes.one_shot);
    throw;
  }
  set_direct(named, handle);
  if (!notes.empty()) named.notes[handle] = std::move(notes);
}

void modify(Context& context, const pb::TableEntry& entry) {
  NamedEntry named(context, entry);
  check_writable(named.table, entry);
  check_direct_values(entry);
  const EntryHandle handle = named.handle();
  if (named.table.is_constant) {
    if (entry.has_action())
      refuse(Code::PERMISSION_DENIED, kField + ".action: the entries of " + owner_of(named.table) + " are constant");
    set_direct(named, handle);
    return;
  }
  const auto old = named.notes.find(handle);
  std::optional<OneShot> old_one_shot = old == named.notes.end() ? std::nullopt : old->second.one_shot;
  EntryNotes notes = notes_of(entry);
  TableEntry made = named.control.entry(handle);
  made.idle_timeout_ns = static_cast<uint64_t>(entry.idle_timeout_ns());
  if (entry.has_action()) {
    made.action = action_of(context, named.table, entry.action(), notes.one_shot);
  } else {
    notes.one_shot = std::move(old_one_shot);
    old_one_shot.reset();
  }
  try {
    in_core(kField, [&] { named.control.modify(made, context.now_ns); });
  } catch (...) {
    if (entry.has_action() && notes.one_shot) remove_one_shot(context, named.table, *notes.one_shot);
    throw;
  }
  if (old_one_shot) remove_one_shot(context, named.table, *old_one_shot);
  set_direct(named, handle);
  keep_notes(named.notes, handle, std::move(notes));
}

void remove(Context& context, const pb::TableEntry& entry) {
  NamedEntry named(context, entry);
  if (entry.is_const()) refuse(Code::INVALID_ARGUMENT, kField + ".is_const: must be false in a write");
  if (named.table.is_constant)
    refuse(Code::PERMISSION_DENIED, kField + ": the entries of " + owner_of(named.table) + " are constant");
  const EntryHandle handle = named.handle();
  in_core(kField, [&] { named.control.remove(named.key, entry.priority()); });
  const auto notes = named.notes.find(handle);
  if (notes == named.notes.end()) return;
  if (notes->second.one_shot) remove_one_shot(context, named.table, *notes->second.one_shot);
  named.notes.erase(notes);
}

void write_default(Context& context, pb::Update::Type type, const pb::TableEntry& entry) {
  const TableSpec& table = context.instance.catalogue.table(entry.table_id(), kField + ".table_id");
  const auto bad = [&](const char* member, const std::string& text) {
    refuse(Code::INVALID_ARGUMENT, kField + member + ": " + text + " (default entry of " + owner_of(table) + ")");
  };
  if (type != pb::Update::MODIFY) bad("", "a default entry can only be modified");
  if (!entry.match().empty()) bad(".match", "must be empty");
  if (entry.priority() != 0) bad(".priority", "must be 0");
  if (entry.idle_timeout_ns() != 0) bad(".idle_timeout_ns", "must be 0");
  check_writable(table, entry);
  if (entry.has_counter_data()) bad(".counter_data", "a default entry has no counter here");
  if (entry.has_meter_config()) bad(".meter_config", "a default entry has no meter here");
  if (table.default_is_constant)
    refuse(Code::PERMISSION_DENIED, kField + ": the default action of " + owner_of(table) + " is constant");
  DefaultNotes& notes = context.instance.defaults[position_of(context, table)];
  Table& control = control_of(context, table);
  if (!entry.has_action()) {
    in_core(kField, [&] { control.reset_default_action(); });
    notes = {};
    return;
  }
  if (table.profile || !entry.action().has_action())
    bad(".action", "must be an action, in a table without action profile");
  const ActionCall call =
      call_of(table.actions, entry.action().action(), CallUse::kDefault, kField + ".action.action", owner_of(table));
  in_core(kField, [&] { control.set_default_action(call); });
  notes = {.entry = notes_of(entry), .written = true};
}

// What a reader wants beside key and action.
struct Wanted {
  bool counter = false;
  bool meter = false;
  bool elapsed = false;
};

const EntryNotes* find_notes(const Context& context, const TableSpec& table, EntryHandle handle) {
  const auto& all = context.instance.entries[position_of(context, table)];
  const auto found = all.find(handle);
  return found == all.end() ? nullptr : &found->second;
}

void write_notes(const EntryNotes* notes, pb::TableEntry* out) {
  if (notes == nullptr) return;
  out->set_controller_metadata(notes->controller_metadata);
  out->set_metadata(notes->metadata);
}

void write_entry(Context& context, const TableSpec& table, EntryHandle handle, const TableEntry& entry,
                 const Wanted& wanted, pb::TableEntry* out) {
  write_key(table, entry, out);
  const EntryNotes* notes = find_notes(context, table, handle);
  write_notes(notes, out);
  write_table_action(context, table, entry.action, notes != nullptr && notes->one_shot ? &*notes->one_shot : nullptr,
                     out->mutable_action());
  out->set_idle_timeout_ns(static_cast<int64_t>(entry.idle_timeout_ns));
  out->set_is_const(table.is_constant);
  Table& control = control_of(context, table);
  if (wanted.counter && table.direct_counter != 0)
    write_counter(control.counter(handle), table.counter_unit, out->mutable_counter_data());
  if (wanted.meter && table.direct_meter != 0)
    if (const auto rates = control.meter(handle)) write_rates(*rates, out->mutable_meter_config());
  if (wanted.elapsed && table.has_idle_timeout)
    out->mutable_time_since_last_hit()->set_elapsed_ns(static_cast<int64_t>(control.idle_ns(handle, context.now_ns)));
}

void read_default(Context& context, const TableSpec& table, Responses& out) {
  const auto action = control_of(context, table).default_action();
  pb::TableEntry* entry = out.add().mutable_table_entry();
  entry->set_table_id(table.id);
  entry->set_is_default_action(true);
  entry->set_is_const(table.default_is_constant);
  write_notes(&context.instance.defaults[position_of(context, table)].entry, entry);
  if (action) write_table_action(context, table, *action, nullptr, entry->mutable_action());
}

bool has_action(const TableSpec& table, const TableEntry& entry, uint32_t action_id) {
  const auto* call = std::get_if<ActionCall>(&entry.action);
  if (call == nullptr) return false;
  for (const ActionUse& use : table.actions)
    if (use.index == call->action) return use.action->id == action_id;
  return false;
}

void read_table(Context& context, const TableSpec& table, const pb::TableEntry& filter, Responses& out) {
  if (filter.is_default_action()) return read_default(context, table, out);
  Table& control = control_of(context, table);
  const Wanted wanted{filter.has_counter_data(), filter.has_meter_config(), filter.has_time_since_last_hit()};
  const uint32_t action_id = filter.action().action().action_id();
  const auto offer = [&](EntryHandle handle) {
    const TableEntry entry = control.entry(handle);
    const EntryNotes* notes = find_notes(context, table, handle);
    if (filter.priority() != 0 && entry.priority != filter.priority()) return;
    if (action_id != 0 && !has_action(table, entry, action_id)) return;
    if (filter.controller_metadata() != 0 &&
        (notes == nullptr || notes->controller_metadata != filter.controller_metadata()))
      return;
    if (!filter.metadata().empty() && (notes == nullptr || notes->metadata != filter.metadata())) return;
    write_entry(context, table, handle, entry, wanted, out.add().mutable_table_entry());
  };
  if (filter.match().empty()) return control.each(offer);
  const std::vector<KeyMatch> key = key_of(table, filter.match(), "table_entry.match");
  if (const auto handle = control.find(key, filter.priority())) offer(*handle);
}

}  // namespace

void write_table_entry(Context& context, pb::Update::Type type, const pb::TableEntry& entry) {
  if (entry.is_default_action()) return write_default(context, type, entry);
  if (type == pb::Update::INSERT) return insert(context, entry);
  if (type == pb::Update::MODIFY) return modify(context, entry);
  remove(context, entry);
}

void read_table_entries(Context& context, const pb::TableEntry& filter, Responses& out) {
  if (filter.has_meter_counter_data())
    refuse(Code::UNIMPLEMENTED, kField + ".meter_counter_data: meters count no packets by colour");
  if (filter.table_id() == 0) {
    for (const TableSpec& table : context.instance.catalogue.tables()) read_table(context, table, filter, out);
    return;
  }
  const TableSpec& table = context.instance.catalogue.table(filter.table_id(), kField + ".table_id");
  check_direct_resources(table, filter);
  if (filter.has_time_since_last_hit() && !table.has_idle_timeout)
    refuse(Code::INVALID_ARGUMENT, kField + ".time_since_last_hit: " + owner_of(table) + " has no idle timeout");
  read_table(context, table, filter, out);
}

std::optional<pb::TableEntry> table_entry_now(Context& context, const pb::TableEntry& named) {
  pb::TableEntry out;
  if (named.is_default_action()) {
    const TableSpec& table = context.instance.catalogue.table(named.table_id(), kField + ".table_id");
    Responses responses;
    read_default(context, table, responses);
    out = responses.messages()[0].entities(0).table_entry();
  } else {
    const NamedEntry entry(context, named);
    const auto handle = entry.control.find(entry.key, named.priority());
    if (!handle) return std::nullopt;
    write_entry(context, entry.table, *handle, entry.control.entry(*handle), {.counter = true, .meter = true}, &out);
    if (entry.table.is_constant) out.clear_action();
  }
  out.set_is_const(false);
  return out;
}

void write_idle_entry(Context& context, const TableSpec& table, EntryHandle handle, pb::TableEntry* out) {
  const TableEntry entry = control_of(context, table).entry(handle);
  write_key(table, entry, out);
  write_notes(find_notes(context, table, handle), out);
  out->set_idle_timeout_ns(static_cast<int64_t>(entry.idle_timeout_ns));
}

}  // namespace orrery::p4::service
