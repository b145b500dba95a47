// SPDX-License-Identifier: Apache-2.0
// Tables with their keys, actions and entries; action profiles.
#include <algorithm>

#include "p4/program/loader.h"

namespace orrery::p4 {

namespace {

constexpr size_t kMaxKeyWords = 64;

const std::map<std::string, MatchKind, std::less<>>& match_kinds() {
  static const std::map<std::string, MatchKind, std::less<>> kKinds{{"exact", MatchKind::kExact},
                                                                    {"lpm", MatchKind::kLpm},
                                                                    {"ternary", MatchKind::kTernary},
                                                                    {"range", MatchKind::kRange},
                                                                    {"valid", MatchKind::kValid}};
  return kKinds;
}

MatchKind match_kind(const JsonAt& at) {
  const auto it = match_kinds().find(at.text());
  if (it == match_kinds().end()) at.unsupported("match kind " + in_quotes(at.text()));
  return it->second;
}

}  // namespace

void Loader::load_action_profile(const JsonAt& at) {
  ActionProfileInfo info{.name = at["name"].text(),
                         .max_size = static_cast<uint32_t>(at["max_size"].number(0, UINT32_MAX)),
                         .has_selector = false};
  std::optional<SelectorCode> code;
  if (const auto selector = at.find("selector")) {
    info.has_selector = true;
    code = SelectorCode{.hash = hash_kind((*selector)["algo"]), .inputs = {}};
    bool with_payload = false;
    code->inputs = calculation_inputs((*selector)["input"].items(), with_payload, code->max_bytes);
    if (with_payload) selector->unsupported("a selector over the payload");
  }
  if (!profile_names_.emplace(info.name, program_->action_profiles.size()).second)
    at["name"].refuse("is the name of two action profiles");
  program_->action_profiles.push_back(std::move(info));
  code_->selectors.push_back(std::move(code));
}

void Loader::load_key(const JsonAt& at, TableInfo& info, TableCode& code) {
  uint32_t used = 64;  // bits of the last word
  for (const JsonAt& part : at.items("key")) {
    const MatchKind kind = match_kind(part["match_type"]);
    const JsonAt target = part["target"];
    KeyField key{.name = {}, .target = {}, .match = kind, .width = 1};
    TableKeyPart out;
    if (kind == MatchKind::kValid) {
      const Header& header = code_->headers[lookup(header_names_, target, "header")];
      key.target = header.name;
      out.from = header.word;
    } else {
      const FieldRef ref = field(target);
      if (ref.is_varbit) target.unsupported("a varbit field in a table's key");
      key.target = target.tuple(2)[0].text() + '.' + target.tuple(2)[1].text();
      key.width = ref.width;
      out.from = ref.word;
    }
    out.width = static_cast<uint16_t>(key.width);
    const auto name = part.find("name");
    key.name = name ? name->text() : key.target;
    if (const auto mask = part.find("mask")) {
      if (kind == MatchKind::kRange) mask->unsupported("a range over a masked field");
      out.mask = mask->hex(key.width);
    }
    if (used + key.width > 64) {
      out.to = static_cast<uint16_t>(code.key_words);
      out.shift = 0;
      code.key_words += words_of(key.width);
      used = key.width > 64 ? 64 : key.width;
    } else {
      out.to = static_cast<uint16_t>(code.key_words - 1);
      out.shift = static_cast<uint8_t>(used);
      used += key.width;
    }
    if (code.key_words > kMaxKeyWords) at["key"].unsupported("so wide a key");
    info.key.push_back(std::move(key));
    code.key.push_back(std::move(out));
  }
  const auto count = [&](MatchKind kind) { return std::ranges::count(info.key, kind, &KeyField::match); };
  const std::string type = at["match_type"].text();
  static const std::map<std::string, TableKind, std::less<>> kTypes{{"exact", TableKind::kExact},
                                                                    {"lpm", TableKind::kLpm},
                                                                    {"ternary", TableKind::kTernary},
                                                                    {"range", TableKind::kRange}};
  const auto found = kTypes.find(type);
  if (found == kTypes.end()) at["match_type"].unsupported("match kind " + in_quotes(type));
  code.kind = found->second;
  const bool fits = code.kind == TableKind::kRange ||
                    (count(MatchKind::kRange) == 0 &&
                     (code.kind == TableKind::kTernary ||
                      (count(MatchKind::kTernary) == 0 && count(MatchKind::kLpm) == (code.kind == TableKind::kLpm))));
  if (!fits) at["match_type"].refuse("does not go with the match kinds of the key");
  info.needs_priority = code.kind == TableKind::kTernary || code.kind == TableKind::kRange;
}

void Loader::load_table_actions(const JsonAt& at, TableInfo& info) {
  if (at.has("action_ids")) {
    for (const JsonAt& id : at["action_ids"].items()) {
      const auto it = action_ids_.find(id.number(0, UINT32_MAX));
      if (it == action_ids_.end()) id.refuse("is the id of no action");
      info.actions.push_back(it->second);
    }
    return;
  }
  for (const JsonAt& name : at["actions"].items()) {
    const auto it = std::ranges::find(program_->actions, name.text(), &ActionInfo::name);
    if (it == program_->actions.end()) name.refuse("is the name of no action");
    info.actions.push_back(static_cast<uint32_t>(it - program_->actions.begin()));
  }
}

uint32_t Loader::table_action(const JsonAt& id, const TableInfo& info) const {
  const auto it = action_ids_.find(id.number(0, UINT32_MAX));
  if (it == action_ids_.end() || std::ranges::find(info.actions, it->second) == info.actions.end())
    id.refuse("is not the id of an action of the table");
  return it->second;
}

std::vector<std::vector<uint64_t>> Loader::action_data(const JsonAt& at, uint32_t action) const {
  const std::vector<ActionParam>& params = program_->actions[action].params;
  std::vector<std::vector<uint64_t>> args;
  const std::vector<JsonAt> values = at.tuple(params.size());
  args.reserve(params.size());
  for (size_t i = 0; i < params.size(); ++i) args.push_back(values[i].hex(params[i].width));
  return args;
}

void Loader::load_default(const JsonAt& at, TableInfo& info, TableCode& code) {
  const auto entry = at.find("default_entry");
  if (!entry) return;
  const uint32_t action = table_action((*entry)["action_id"], info);
  const auto flag = [&](const char* name) {
    const auto each = entry->find(name);
    return each && each->boolean();
  };
  info.constant_default = flag("action_const") || flag("action_entry_const");
  if (const auto data = entry->find("action_data")) {
    code.default_entry = DefaultEntry{action, action_data(*data, action)};
  } else if (program_->actions[action].params.empty()) {
    code.default_entry = DefaultEntry{action, {}};
  } else {
    entry->refuse("has no member action_data");
  }
}

ConstEntry Loader::const_entry(const JsonAt& at, const TableInfo& info) {
  ConstEntry out{.key = {}, .prefix_lengths = {}, .action = 0, .args = {}, .json_priority = 0};
  const std::vector<JsonAt> keys = at["match_key"].tuple(info.key.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const JsonAt& key = keys[i];
    const KeyField& field = info.key[i];
    if (match_kind(key["match_type"]) != field.match) key["match_type"].refuse("is not that of the table's key");
    uint32_t prefix_length = field.width;
    std::vector<uint64_t> ones(words_of(field.width), ~uint64_t{0});
    ones.back() = low_mask((field.width - 1) % 64 + 1);
    switch (field.match) {
      case MatchKind::kExact:
        out.key.emplace_back(key["key"].hex(field.width), ones);
        break;
      case MatchKind::kLpm:
        prefix_length = static_cast<uint32_t>(key["prefix_length"].number(0, field.width));
        out.key.emplace_back(key["key"].hex(field.width), ones);
        break;
      case MatchKind::kTernary:
        out.key.emplace_back(key["key"].hex(field.width), key["mask"].hex(field.width));
        break;
      case MatchKind::kRange:
        out.key.emplace_back(key["start"].hex(field.width), key["end"].hex(field.width));
        if (std::ranges::lexicographical_compare(out.key[i].second.rbegin(), out.key[i].second.rend(),
                                                 out.key[i].first.rbegin(), out.key[i].first.rend()))
          key.refuse("ends below where it begins");
        break;
      case MatchKind::kValid:
        out.key.emplace_back(Words{key["key"].boolean() ? 1u : 0u}, ones);
        break;
    }
    out.prefix_lengths.push_back(prefix_length);
  }
  const JsonAt action = at["action_entry"];
  out.action = table_action(action["action_id"], info);
  out.args = action_data(action["action_data"], out.action);
  if (info.needs_priority) out.json_priority = static_cast<int32_t>(at["priority"].number(0, INT32_MAX / 2));
  return out;
}

void Loader::load_entries(const JsonAt& at, TableInfo& info, TableCode& code) {
  const auto entries = at.find("entries");
  if (!entries) return;
  info.constant = true;
  if (info.action_profile) entries->unsupported("an entry in the program of a table with an action profile");
  for (const JsonAt& entry : entries->items()) code.entries.push_back(const_entry(entry, info));
}

void Loader::load_next(const JsonAt& at, const TableInfo& info, TableCode& code, const Names& nodes) {
  const auto node = [&](const JsonAt& name) {
    return name.is_null() ? kNone : static_cast<int32_t>(lookup(nodes, name, "table or condition"));
  };
  if (const auto next = at.find("base_default_next")) code.next_none = node(*next);
  code.next.assign(info.actions.size(), code.next_none);
  const JsonAt next_tables = at["next_tables"];
  code.by_hit = next_tables.has("__HIT__") || next_tables.has("__MISS__");
  if (code.by_hit) {
    if (next_tables.has("__HIT__")) code.next_hit = node(next_tables["__HIT__"]);
    if (next_tables.has("__MISS__")) code.next_miss = node(next_tables["__MISS__"]);
    return;
  }
  for (size_t i = 0; i < info.actions.size(); ++i) {
    const std::string& name = program_->actions[info.actions[i]].name;
    if (next_tables.has(name.c_str())) code.next[i] = node(next_tables[name.c_str()]);
  }
}

void Loader::load_table(const JsonAt& at, const std::string& pipeline) {
  TableInfo info{.name = at["name"].text(),
                 .id = static_cast<uint32_t>(at["id"].number(0, UINT32_MAX)),
                 .pipeline = pipeline,
                 .key = {},
                 .actions = {},
                 .action_profile = {},
                 .max_size = static_cast<uint32_t>(at["max_size"].number(0, UINT32_MAX)),
                 .needs_priority = false,
                 .constant = false,
                 .constant_default = false,
                 .direct_counter = {},
                 .direct_meter = {},
                 .has_idle_timeout = at.has("support_timeout") && at["support_timeout"].boolean()};
  TableCode code{.kind = TableKind::kExact, .key = {}, .next = {}, .default_entry = {}, .entries = {}};
  load_key(at, info, code);
  load_table_actions(at, info);
  const std::string type = at["type"].text();
  if (type == "indirect" || type == "indirect_ws") {
    info.action_profile = lookup(profile_names_, at["action_profile"], "action profile");
    if (type == "indirect_ws" && !program_->action_profiles[*info.action_profile].has_selector)
      at["action_profile"].refuse("has no selector");
  } else if (type != "simple") {
    at["type"].unsupported("table type " + in_quotes(type));
  }
  if (at.has("with_counters") && at["with_counters"].boolean()) {
    const auto counter = std::ranges::find(program_->counters, info.name, &CounterInfo::table);
    if (counter == program_->counters.end()) at["with_counters"].refuse("there is no counter array for the table");
    info.direct_counter = static_cast<uint32_t>(counter - program_->counters.begin());
  }
  if (const auto meter = at.find("direct_meters")) {
    info.direct_meter = lookup(meter_names_, *meter, "meter array");
    const auto target = direct_meter_targets_.find(*info.direct_meter);
    if (target == direct_meter_targets_.end()) meter->refuse("is no direct meter");
    if (target->second.width > 64) meter->unsupported("a result of more than 64 bits");
    code.meter_target = static_cast<int32_t>(target->second.word);
    code.meter_width = static_cast<uint16_t>(target->second.width);
  }
  load_default(at, info, code);
  load_entries(at, info, code);
  if (!table_names_.emplace(info.name, program_->tables.size()).second) at["name"].refuse("is the name of two tables");
  program_->tables.push_back(std::move(info));
  code_->tables.push_back(std::move(code));
}

}  // namespace orrery::p4
