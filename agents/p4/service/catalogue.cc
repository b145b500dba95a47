// SPDX-License-Identifier: Apache-2.0
#include "p4/service/catalogue.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "p4/service/data_types.h"
#include "p4/service/failure.h"

namespace orrery::p4::service {
namespace {

[[noreturn]] void mismatch(const std::string& text) {
  refuse(Code::INVALID_ARGUMENT, "p4info does not fit p4_device_config: " + text);
}

// What a program has of one kind.
template <typename List>
class Named {
 public:
  // `infos` are the lists of P4Info with what of this kind it names.
  template <typename... Infos>
  Named(const List& list, const char* what, const Infos&... infos) : list_(list), what_(what) {
    std::set<std::string> names;
    (std::ranges::transform(infos, std::inserter(names, names.end()),
                            [](const auto& each) { return each.preamble().name(); }),
     ...);
    // The compiler's own have no dot.
    is_of_another_ = std::ranges::any_of(
        list, [&](const auto& each) { return !names.contains(each.name) && each.name.find('.') != std::string::npos; });
  }

  // Nothing for what the compiler has left out, as unused. Throws Failure where p4info is of another program: then the
  // program has something that p4info does not name.
  std::optional<uint32_t> find(const std::string& name) const {
    const auto found = std::ranges::find(list_, name, [](const auto& each) { return each.name; });
    if (found != list_.end()) return static_cast<uint32_t>(found - list_.begin());
    if (is_of_another_) mismatch(std::string("there is no ") + what_ + " \"" + name + '"');
    return std::nullopt;
  }

 private:
  const List& list_;
  const char* what_;
  bool is_of_another_;
};

// Bits of a value as the program has it; P4Info may have those of a type that is translated, or none for `error`.
// Nothing where they do not fit together.
template <typename Info>
std::optional<uint32_t> width_of(const Info& field, uint32_t there, const info::P4TypeInfo& types) {
  if (field.bitwidth() == static_cast<int32_t>(there)) return there;
  const auto type = types.new_types().find(field.type_name().name());
  if (type != types.new_types().end() && type->second.translated_type().has_sdn_string())
    refuse(Code::UNIMPLEMENTED, "p4info: \"" + field.name() + "\" is translated from strings");
  return field.bitwidth() == 0 || field.has_type_name() ? std::optional(there) : std::nullopt;
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

FieldSpec field_of(const info::MatchField& field, uint32_t width) {
  return {field.id(), field.name(), width, field.match_type()};
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
    if (action == nullptr)
      mismatch("action " + std::to_string(reference.id()) + of + " is not in p4info and the program");
    const std::optional<uint32_t> index = there.action(program.actions, action->name);
    if (!index) mismatch("there is no action \"" + action->name + '"' + of);
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
  add_actions(p4info, program);
  for (const info::ActionProfile& profile : p4info.action_profiles()) add_profile(profile, p4info, program);
  for (const info::Table& table : p4info.tables()) add_table(table, p4info, program);
  add_arrays(p4info, program);
  add_value_sets(p4info, program);
  add_digests(p4info, program);
  add_packet_headers(p4info);
}

void Catalogue::add_actions(const info::P4Info& p4info, const Program& program) {
  for (const info::Action& action : p4info.actions()) {
    const std::string& name = action.preamble().name();
    auto spec = std::make_unique<ActionSpec>(ActionSpec{action.preamble().id(), name, {}});
    // Written once for each use, each time the same.
    const auto there = std::ranges::find(program.actions, name, &ActionInfo::name);
    if (there == program.actions.end()) continue;
    if (static_cast<size_t>(action.params_size()) != there->params.size())
      mismatch("action \"" + name + "\" has other parameters");
    for (int i = 0; i < action.params_size(); ++i) {
      const auto& param = action.params(i);
      const auto width = width_of(param, there->params[static_cast<size_t>(i)].width, p4info.type_info());
      if (!width) mismatch("action \"" + name + "\" has other parameters");
      spec->params.push_back({param.id(), param.name(), *width});
    }
    actions_[spec->id] = std::move(spec);
  }
}

void Catalogue::add_profile(const info::ActionProfile& profile, const info::P4Info& p4info, const Program& program) {
  const std::string& name = profile.preamble().name();
  const auto index = Named(program.action_profiles, "action profile", p4info.action_profiles()).find(name);
  if (!index) return;
  ProfileSpec spec{.id = profile.preamble().id(),
                   .name = name,
                   .index = *index,
                   .actions = {},
                   .has_selector = profile.with_selector(),
                   .sum_of_members = profile.has_sum_of_members(),
                   .size = profile.size(),
                   .max_group_size = profile.max_group_size(),
                   .max_member_weight = profile.sum_of_members().max_member_weight()};
  // Its tables have the same actions (P4Runtime 9.2.1).
  for (const info::Table& table : p4info.tables()) {
    if (table.implementation_id() != spec.id) continue;
    const auto there = program.find_table(table.preamble().name());
    if (!there) continue;
    spec.actions = uses_of(table, program.tables[*there], program, *this);
    break;
  }
  profiles_.push_back(std::move(spec));
}

void Catalogue::add_table(const info::Table& table, const info::P4Info& p4info, const Program& program) {
  const std::string& name = table.preamble().name();
  const auto index = Named(program.tables, "table", p4info.tables()).find(name);
  if (!index) return;
  const TableInfo& there = program.tables[*index];
  TableSpec spec{.id = table.preamble().id(),
                 .name = name,
                 .index = *index,
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
    const KeyField& field = there.key[static_cast<size_t>(i)];
    const auto width = width_of(table.match_fields(i), field.width, p4info.type_info());
    if (!width || !fits(table.match_fields(i).match_type(), field.match))
      mismatch("field \"" + table.match_fields(i).name() + "\" of table \"" + name + "\" has another match or width");
    spec.fields.push_back(field_of(table.match_fields(i), *width));
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
  const Named counters(program.counters, "counter", p4info.counters(), p4info.direct_counters());
  for (const info::Counter& counter : p4info.counters())
    if (const auto index = counters.find(counter.preamble().name()))
      counters_.push_back({counter.preamble().id(), counter.preamble().name(), *index, counter.spec().unit()});
  const Named meters(program.meters, "meter", p4info.meters(), p4info.direct_meters());
  for (const info::Meter& meter : p4info.meters())
    if (const auto index = meters.find(meter.preamble().name()))
      meters_.push_back({meter.preamble().id(), meter.preamble().name(), *index});
  const Named registers(program.registers, "register", p4info.registers());
  for (const info::Register& each : p4info.registers()) {
    const std::string& name = each.preamble().name();
    const auto index = registers.find(name);
    if (!index) continue;
    const DataShape shape = shape_of(each.type_spec(), p4info.type_info(), 1, "register \"" + name + '"');
    if (shape.is_struct || shape.is_tuple)
      refuse(Code::UNIMPLEMENTED, "register \"" + name + "\": only numbers are supported");
    registers_.push_back({each.preamble().id(), name, *index, program.registers[*index].width, shape.form});
  }
}

void Catalogue::add_value_sets(const info::P4Info& p4info, const Program& program) {
  const Named sets(program.value_sets, "value set", p4info.value_sets());
  for (const info::ValueSet& set : p4info.value_sets()) {
    const std::string& name = set.preamble().name();
    const auto index = sets.find(name);
    if (!index) continue;
    ValueSetSpec spec{set.preamble().id(), name, *index, {}, set.size()};
    uint32_t width = 0;
    for (const info::MatchField& field : set.match()) {
      spec.fields.push_back(field_of(field, static_cast<uint32_t>(std::max(0, field.bitwidth()))));
      width += spec.fields.back().width;
    }
    if (width != program.value_sets[spec.index].width) mismatch("value set \"" + name + "\" has another width");
    value_sets_.push_back(std::move(spec));
  }
}

void Catalogue::add_digests(const info::P4Info& p4info, const Program& program) {
  const Named digests(program.learn_lists, "digest", p4info.digests());
  for (const info::Digest& digest : p4info.digests()) {
    const std::string& name = digest.preamble().name();
    const auto index = digests.find(name);
    if (!index) continue;
    const size_t fields = program.learn_lists[*index].widths.size();
    const std::string what = "digest \"" + name + '"';
    DigestSpec spec{digest.preamble().id(), name, *index,
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
