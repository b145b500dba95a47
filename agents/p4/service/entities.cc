// SPDX-License-Identifier: Apache-2.0
#include "p4/service/entities.h"

#include "p4/service/arrays.h"
#include "p4/service/profiles.h"
#include "p4/service/replication_entries.h"
#include "p4/service/tables.h"

namespace orrery::p4::service {
namespace {

pb::Update update_of(pb::Update::Type type, const pb::Entity& entity) {
  pb::Update update;
  update.set_type(type);
  *update.mutable_entity() = entity;
  return update;
}

// What is there of an entity that an update names by its key.
std::vector<pb::Entity> there(Context& context, const pb::Entity& named) {
  if (named.has_table_entry()) {
    const auto entry = table_entry_now(context, named.table_entry());
    if (!entry) return {};
    pb::Entity entity;
    *entity.mutable_table_entry() = *entry;
    return {entity};
  }
  Responses responses;
  read(context, named, responses);
  std::vector<pb::Entity> out;
  for (const pb::ReadResponse& message : responses.messages())
    out.insert(out.end(), message.entities().begin(), message.entities().end());
  return out;
}

void append(std::vector<pb::Update>& out, pb::Update::Type type, const Responses& responses) {
  for (const pb::ReadResponse& message : responses.messages())
    for (const pb::Entity& entity : message.entities()) out.push_back(update_of(type, entity));
}

bool is_zero(const pb::Entity& entity) {
  if (entity.has_counter_entry())
    return entity.counter_entry().data().packet_count() == 0 && entity.counter_entry().data().byte_count() == 0;
  if (entity.has_meter_entry()) return !entity.meter_entry().has_config();
  if (entity.has_register_entry()) {
    const pb::P4Data& data = entity.register_entry().data();
    return !data.bool_() && data.bitstring().find_first_not_of('\0') == std::string::npos &&
           data.enum_value().find_first_not_of('\0') == std::string::npos;
  }
  return false;
}

// All entries of a table: those of a constant one only where they have a counter or meter.
void append_table(Context& context, const TableSpec& table, std::vector<pb::Update>& out) {
  pb::TableEntry filter;
  filter.set_table_id(table.id);
  if (table.direct_counter != 0) filter.mutable_counter_data();
  if (table.direct_meter != 0) filter.mutable_meter_config();
  Responses responses;
  read_table_entries(context, filter, responses);
  for (const pb::ReadResponse& message : responses.messages())
    for (const pb::Entity& entity : message.entities()) {
      pb::Update update = update_of(table.is_constant ? pb::Update::MODIFY : pb::Update::INSERT, entity);
      update.mutable_entity()->mutable_table_entry()->set_is_const(false);
      if (table.is_constant) update.mutable_entity()->mutable_table_entry()->clear_action();
      if (!table.is_constant || table.direct_counter != 0 || table.direct_meter != 0) out.push_back(std::move(update));
    }
  const auto position = static_cast<size_t>(&table - context.instance.catalogue.tables().data());
  if (!context.instance.defaults[position].written) return;
  pb::TableEntry fallback;
  fallback.set_table_id(table.id);
  fallback.set_is_default_action(true);
  pb::Entity entity;
  *entity.mutable_table_entry() = *table_entry_now(context, fallback);
  out.push_back(update_of(pb::Update::MODIFY, entity));
}

void apply_entity(Context& context, const pb::Update& update) {
  const pb::Update::Type type = update.type();
  if (type != pb::Update::INSERT && type != pb::Update::MODIFY && type != pb::Update::DELETE)
    refuse(Code::INVALID_ARGUMENT, "type: must be INSERT, MODIFY or DELETE");
  const pb::Entity& entity = update.entity();
  switch (entity.entity_case()) {
    case pb::Entity::kTableEntry:
      return write_table_entry(context, type, entity.table_entry());
    case pb::Entity::kActionProfileMember:
      return write_member(context, type, entity.action_profile_member());
    case pb::Entity::kActionProfileGroup:
      return write_group(context, type, entity.action_profile_group());
    case pb::Entity::kMeterEntry:
      return write_meter_entry(context, type, entity.meter_entry());
    case pb::Entity::kDirectMeterEntry:
      return write_direct_meter(context, type, entity.direct_meter_entry());
    case pb::Entity::kCounterEntry:
      return write_counter_entry(context, type, entity.counter_entry());
    case pb::Entity::kDirectCounterEntry:
      return write_direct_counter(context, type, entity.direct_counter_entry());
    case pb::Entity::kPacketReplicationEngineEntry:
      return write_replication(context, type, entity.packet_replication_engine_entry());
    case pb::Entity::kValueSetEntry:
      return write_value_set(context, type, entity.value_set_entry());
    case pb::Entity::kRegisterEntry:
      return write_register_entry(context, type, entity.register_entry());
    case pb::Entity::kDigestEntry:
      return write_digest_entry(context, type, entity.digest_entry());
    case pb::Entity::kExternEntry:
      refuse(Code::UNIMPLEMENTED, "entity.extern_entry: v1model has no extern of this kind");
    default:
      refuse(Code::INVALID_ARGUMENT, "entity: is missing");
  }
}

void read_entity(Context& context, const pb::Entity& entity, Responses& out) {
  switch (entity.entity_case()) {
    case pb::Entity::kTableEntry:
      return read_table_entries(context, entity.table_entry(), out);
    case pb::Entity::kActionProfileMember:
      return read_members(context, entity.action_profile_member(), out);
    case pb::Entity::kActionProfileGroup:
      return read_groups(context, entity.action_profile_group(), out);
    case pb::Entity::kMeterEntry:
      return read_meter_entries(context, entity.meter_entry(), out);
    case pb::Entity::kDirectMeterEntry:
      return read_direct_meters(context, entity.direct_meter_entry(), out);
    case pb::Entity::kCounterEntry:
      return read_counter_entries(context, entity.counter_entry(), out);
    case pb::Entity::kDirectCounterEntry:
      return read_direct_counters(context, entity.direct_counter_entry(), out);
    case pb::Entity::kPacketReplicationEngineEntry:
      return read_replication(context, entity.packet_replication_engine_entry(), out);
    case pb::Entity::kValueSetEntry:
      return read_value_sets(context, entity.value_set_entry(), out);
    case pb::Entity::kRegisterEntry:
      return read_register_entries(context, entity.register_entry(), out);
    case pb::Entity::kDigestEntry:
      return read_digest_entries(context, entity.digest_entry(), out);
    case pb::Entity::kExternEntry:
      // There is none: a wildcard for all finds none.
      if (entity.extern_entry().extern_type_id() == 0) return;
      refuse(Code::UNIMPLEMENTED, "entity.extern_entry: v1model has no extern of this kind");
    default:
      refuse(Code::INVALID_ARGUMENT, "entity: is missing");
  }
}

}  // namespace

void apply(Context& context, const pb::Update& update) {
  in_core("entity", [&] { apply_entity(context, update); });
}

void read(Context& context, const pb::Entity& entity, Responses& out) {
  in_core("entity", [&] { read_entity(context, entity, out); });
}

std::vector<pb::Update> inverse_of(Context& context, const pb::Update& update) {
  if (update.type() == pb::Update::INSERT) return {update_of(pb::Update::DELETE, update.entity())};
  const auto type = update.type() == pb::Update::DELETE ? pb::Update::INSERT : pb::Update::MODIFY;
  std::vector<pb::Update> out;
  try {
    for (const pb::Entity& entity : there(context, update.entity())) out.push_back(update_of(type, entity));
  } catch (const Failure&) {
    return {};
  }
  return out;
}

std::vector<pb::Update> state_of(Context& context) {
  std::vector<pb::Update> out;
  const auto all = [&](pb::Update::Type type, const auto& pick) {
    pb::Entity entity;
    pick(entity);
    Responses responses;
    read(context, entity, responses);
    append(out, type, responses);
  };
  all(pb::Update::INSERT, [](pb::Entity& entity) { entity.mutable_action_profile_member(); });
  all(pb::Update::INSERT, [](pb::Entity& entity) { entity.mutable_action_profile_group(); });
  for (const TableSpec& table : context.instance.catalogue.tables()) append_table(context, table, out);
  all(pb::Update::INSERT, [](pb::Entity& entity) { entity.mutable_packet_replication_engine_entry(); });
  all(pb::Update::INSERT, [](pb::Entity& entity) { entity.mutable_digest_entry(); });
  const size_t entries = out.size();
  all(pb::Update::MODIFY, [](pb::Entity& entity) { entity.mutable_value_set_entry(); });
  all(pb::Update::MODIFY, [](pb::Entity& entity) { entity.mutable_counter_entry(); });
  all(pb::Update::MODIFY, [](pb::Entity& entity) { entity.mutable_meter_entry(); });
  all(pb::Update::MODIFY, [](pb::Entity& entity) { entity.mutable_register_entry(); });
  // Cells that a new pipeline has anyway.
  out.erase(std::remove_if(out.begin() + static_cast<ptrdiff_t>(entries), out.end(),
                           [](const pb::Update& update) { return is_zero(update.entity()); }),
            out.end());
  return out;
}

}  // namespace orrery::p4::service
