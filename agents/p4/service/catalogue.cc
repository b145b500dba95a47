// SPDX-License-Identifier: Apache-2.0
#include "p4/service/catalogue.h"

#include <algorithm>

#include "p4/service/data_types.h"
#include "p4/service/failure.h"

namespace orrery::p4::service {
namespace {

[[noreturn]] void mismatch(const std::string& text) {
  refuse(Code::INVALID_ARGUMENT, "p4info does not fit p4_device_config: " + text);
}

template <typename List>
uint32_t index_by_name(const List& list, const std::string& name, const std::string& what) {
  const auto found = std::ranges::find(list, name, [](const auto& each) { return each.name; });
  if (found == list.end()) mismatch("there is no " + what + " \"" + name + '"');
  return static_cast<uint32_t>(found - list.begin());
}

bool fits(info::MatchField::MatchType wanted, MatchKind there) {
  switch (wanted) {
    case info::MatchField::EXACT:
      return there == MatchKind::kExact || there == MatchKind::kValid;
    case info::MatchField::LPM:
      return there == MatchKind::kLpm;
    case info::MatchField::TERNARY:
    case info::MatchField::OPTIONAL:
      return there == MatchKind::kTernary;
    case info::MatchField::RANGE:
      return there == MatchKind::kRange;
    default:
      return false;
  }
}

FieldSpec field_of(const info::MatchField& field) {
  return {field.id(), field.name(), static_cast<uint32_t>(std::max(0, field.bitwidth())), field.match_type()};
}

ActionUse use_of(const info::ActionRef& reference, const ActionSpec& action, uint32_t index) {
  return {&action, index, reference.scope() != info::ActionRef::DEFAULT_ONLY,
          reference.scope() != info::ActionRef::TABLE_ONLY};
}

// Precondition: the table's actions are in the catalogue.
std::vector<ActionUse> uses_of(const info::Table& table, const TableInfo& there, const Program& program,
                               const Catalogue& catalogue) {
  std::vector<ActionUse> uses;
  for (const info::ActionRef& reference : table.action_refs()) {
    const ActionSpec* action = catalogue.action(reference.id());
    const std::string of = " of table \"" + table.preamble().name() + '"';
    if (action == nullptr) mismatch("action " + std::to_string(reference.id()) + of + " is not in p4info");
    const std::optional<uint32_t> index = there.action(program.actions, action->name);
    if (!index) mismatch("there is no action \"" + action->name + '"' + of);
    const auto& params = program.actions[*index].params;
    if (!std::ranges::equal(action->params, params, {}, &ParamSpec::width, &ActionParam::width))
      mismatch("action \"" + action->name + "\" has other parameters");
    uses.push_back(use_of(reference, *action, *index));
  }
  return uses;
}

template <typename Spec>
const Spec& by_id(const std::vector<Spec>& list, uint32_t id, const std::string& field, const char* what) {
  const auto found = std::ranges::find(list, id, &Spec::id);
  if (found == list.end())
    refuse(Code::INVALID_ARGUMENT, field + ": p4info has no " + what + " with id " + std::to_string(id));
  return *found;
}

}  // namespace

Catalogue::Catalogue(const info::P4Info& p4info, const Program& program) {
  const std::string& arch = p4info.pkg_info().arch();
  if (!arch.empty() && arch != "v1model")
    refuse(Code::UNIMPLEMENTED, "p4info.pkg_info.arch: \"" + arch + "\" is not supported, only \"v1model\"");
  add_actions(p4info);
  for (const info::ActionProfile& profile : p4info.action_profiles()) add_profile(profile, p4info, program);
  for (const info::Table& table : p4info.tables()) add_table(table, p4info, program);
  add_arrays(p4info, program);
  add_value_sets(p4info, program);
  add_digests(p4info, program);
  add_packet_headers(p4info);
}

void Catalogue::add_actions(const info::P4Info& p4info) {
  for (const info::Action& action : p4info.actions()) {
    auto spec = std::make_unique<ActionSpec>(ActionSpec{action.preamble().id(), action.preamble().name(), {}});
    for (const auto& param : action.params())
      spec->params.push_back({param.id(), param.name(), static_cast<uint32_t>(std::max(0, param.bitwidth()))});
    actions_[spec->id] = std::move(spec);
  }
}

void Catalogue::add_profile(const info::ActionProfile& profile, const info::P4Info& p4info, const Program& program) {
  const std::string& name = profile.preamble().name();
  ProfileSpec spec{.id = profile.preamble().id(),
                   .name = name,
                   .index = index_by_name(program.action_profiles, name, "action profile"),
                   .actions = {},
                   .has_selector = profile.with_selector(),
                   .sum_of_members = profile.has_sum_of_members(),
                   .size = profile.size(),
                   .max_group_size = profile.max_group_size(),
                   .max_member_weight = profile.sum_of_members().max_member_weight()};
  // Its tables have the same actions (P4Runtime 9.2.1).
  for (const info::Table& table : p4info.tables()) {
    if (table.implementation_id() != spec.id) continue;
    const uint32_t index = index_by_name(program.tables, table.preamble().name(), "table");
    spec.actions = uses_of(table, program.tables[index], program, *this);
    break;
  }
  profiles_.push_back(std::move(spec));
}

void Catalogue::add_table(const info::Table& table, const info::P4Info& p4info, const Program& program) {
  const std::string& name = table.preamble().name();
  const uint32_t index = index_by_name(program.tables, name, "table");
  const TableInfo& there = program.tables[index];
  TableSpec spec{.id = table.preamble().id(),
                 .name = name,
                 .index = index,
                 .fields = {},
                 .actions = uses_of(table, there, program, *this),
                 .profile = {},
                 .needs_priority = there.needs_priority,
                 .is_constant = table.is_const_table() || there.constant,
                 .default_is_constant = table.const_default_action_id() != 0 || there.constant_default,
                 .has_idle_timeout = table.idle_timeout_behavior() == info::Table::NOTIFY_CONTROL};
  if (static_cast<size_t>(table.match_fields_size()) != there.key.size())
    mismatch("table \"" + name + "\" has " + std::to_string(there.key.size()) + " key fields");
  for (int i = 0; i < table.match_fields_size(); ++i) {
    spec.fields.push_back(field_of(table.match_fields(i)));
    const KeyField& field = there.key[static_cast<size_t>(i)];
    if (!fits(spec.fields.back().match, field.match) || spec.fields.back().width != field.width)
      mismatch("field \"" + table.match_fields(i).name() + "\" of table \"" + name + "\" has another match or width");
  }
  if (table.implementation_id() != 0) {
    const auto found = std::ranges::find(profiles_, table.implementation_id(), &ProfileSpec::id);
    if (found == profiles_.end() || there.action_profile != found->index)
      mismatch("table \"" + name + "\" has another action profile");
    spec.profile = static_cast<uint32_t>(found - profiles_.begin());
  } else if (there.action_profile) {
    mismatch("table \"" + name + "\" has an action profile");
  }
  for (const uint32_t id : table.direct_resource_ids()) {
    for (const info::DirectCounter& counter : p4info.direct_counters())
      if (counter.preamble().id() == id && there.direct_counter) {
        spec.direct_counter = id;
        spec.counter_unit = counter.spec().unit();
      }
    for (const info::DirectMeter& meter : p4info.direct_meters())
      if (meter.preamble().id() == id && there.direct_meter) spec.direct_meter = id;
  }
  tables_.push_back(std::move(spec));
}

void Catalogue::add_arrays(const info::P4Info& p4info, const Program& program) {
  for (const info::Counter& counter : p4info.counters())
    counters_.push_back({counter.preamble().id(), counter.preamble().name(),
                         index_by_name(program.counters, counter.preamble().name(), "counter"), counter.spec().unit()});
  for (const info::Meter& meter : p4info.meters())
    meters_.push_back({meter.preamble().id(), meter.preamble().name(),
                       index_by_name(program.meters, meter.preamble().name(), "meter")});
  for (const info::Register& each : p4info.registers()) {
    const std::string& name = each.preamble().name();
    const uint32_t index = index_by_name(program.registers, name, "register");
    const DataShape shape = shape_of(each.type_spec(), p4info.type_info(), 1, "register \"" + name + '"');
    if (shape.is_struct || shape.is_tuple)
      refuse(Code::UNIMPLEMENTED, "register \"" + name + "\": only numbers are supported");
    registers_.push_back({each.preamble().id(), name, index, program.registers[index].width, shape.form});
  }
}

void Catalogue::add_value_sets(const info::P4Info& p4info, const Program& program) {
  for (const info::ValueSet& set : p4info.value_sets()) {
    const std::string& name = set.preamble().name();
    ValueSetSpec spec{set.preamble().id(), name, index_by_name(program.value_sets, name, "value set"), {}, set.size()};
    uint32_t width = 0;
    for (const info::MatchField& field : set.match()) {
      spec.fields.push_back(field_of(field));
      width += spec.fields.back().width;
    }
    if (width != program.value_sets[spec.index].width) mismatch("value set \"" + name + "\" has another width");
    value_sets_.push_back(std::move(spec));
  }
}

void Catalogue::add_digests(const info::P4Info& p4info, const Program& program) {
  for (const info::Digest& digest : p4info.digests()) {
    const std::string& name = digest.preamble().name();
    const uint32_t index = index_by_name(program.learn_lists, name, "digest");
    const size_t fields = program.learn_lists[index].widths.size();
    const std::string what = "digest \"" + name + '"';
    DigestSpec spec{digest.preamble().id(), name, index,
                    shape_of(digest.type_spec(), p4info.type_info(), fields, what)};
    if (leaves_of(spec.shape) != fields) mismatch(what + " has " + std::to_string(fields) + " fields");
    digests_.push_back(std::move(spec));
  }
}

void Catalogue::add_packet_headers(const info::P4Info& p4info) {
  packet_in_.name = "packet_in";
  packet_out_.name = "packet_out";
  for (const info::ControllerPacketMetadata& header : p4info.controller_packet_metadata()) {
    for (PacketHeaderSpec* spec : {&packet_in_, &packet_out_}) {
      if (header.preamble().name() != spec->name) continue;
      uint32_t bits = 0;
      for (const auto& field : header.metadata()) {
        spec->fields.push_back({field.id(), field.name(), static_cast<uint32_t>(std::max(0, field.bitwidth()))});
        bits += spec->fields.back().width;
        if (bits > 8192)
          refuse(Code::INVALID_ARGUMENT, "p4info: header \"" + spec->name + "\" is longer than 1024 bytes");
      }
      if (bits % 8 != 0) refuse(Code::INVALID_ARGUMENT, "p4info: header \"" + spec->name + "\" is no number of bytes");
      spec->bytes = bits / 8;
    }
  }
}

const TableSpec& Catalogue::table(uint32_t id, const std::string& field) const {
  return by_id(tables_, id, field, "table");
}
const ProfileSpec& Catalogue::profile(uint32_t id, const std::string& field) const {
  return by_id(profiles_, id, field, "action profile");
}
const CounterSpecOf& Catalogue::counter(uint32_t id, const std::string& field) const {
  return by_id(counters_, id, field, "counter");
}
const MeterSpecOf& Catalogue::meter(uint32_t id, const std::string& field) const {
  return by_id(meters_, id, field, "meter");
}
const RegisterSpec& Catalogue::register_of(uint32_t id, const std::string& field) const {
  return by_id(registers_, id, field, "register");
}
const ValueSetSpec& Catalogue::value_set(uint32_t id, const std::string& field) const {
  return by_id(value_sets_, id, field, "value set");
}
const DigestSpec& Catalogue::digest(uint32_t id, const std::string& field) const {
  return by_id(digests_, id, field, "digest");
}

const ActionSpec* Catalogue::action(uint32_t id) const {
  const auto found = actions_.find(id);
  return found == actions_.end() ? nullptr : found->second.get();
}

const TableSpec* Catalogue::table_at(uint32_t index) const {
  const auto found = std::ranges::find(tables_, index, &TableSpec::index);
  return found == tables_.end() ? nullptr : &*found;
}

}  // namespace orrery::p4::service
