// SPDX-License-Identifier: Apache-2.0
#include "p4/service/table_codec.h"

#include <algorithm>

#include "p4/service/failure.h"
#include "p4/service/values.h"

namespace orrery::p4::service {
namespace {

using Matches = google::protobuf::RepeatedPtrField<pb::FieldMatch>;

std::string of(const FieldSpec& spec, const std::string& owner) {
  return " (field \"" + spec.name + "\" of " + owner + ")";
}

[[noreturn]] void bad(const std::string& field, const FieldSpec& spec, const std::string& owner,
                      const std::string& text) {
  refuse(Code::INVALID_ARGUMENT, field + ": " + text + of(spec, owner));
}

ByteString value(const std::string& bytes, const FieldSpec& spec, const std::string& field, const char* member,
                 const std::string& owner) {
  const std::string_view number = shortest(bytes);
  if (bytes.empty() || bits_of(number) > spec.width) bad(field + member, spec, owner, fault_of(bytes, spec.width));
  return ByteString(number);
}

KeyMatch lpm(const FieldSpec& spec, const pb::FieldMatch::LPM& match, const std::string& field,
             const std::string& owner) {
  if (match.prefix_len() <= 0)
    bad(field + ".lpm.prefix_len", spec, owner, "must be above 0; leave the field out to match every value");
  const auto length = static_cast<uint32_t>(match.prefix_len());
  if (length > spec.width) bad(field + ".lpm.prefix_len", spec, owner, "must be at most " + std::to_string(spec.width));
  KeyMatch key{.value = value(match.value(), spec, field, ".lpm.value", owner), .mask = {}, .prefix_length = length};
  if (trailing_zeros(key.value, spec.width) < spec.width - length)
    bad(field + ".lpm.value", spec, owner, shown(key.value) + " has bits beyond the prefix");
  return key;
}

KeyMatch ternary(const FieldSpec& spec, const pb::FieldMatch::Ternary& match, const std::string& field,
                 const std::string& owner) {
  KeyMatch key{.value = value(match.value(), spec, field, ".ternary.value", owner),
               .mask = value(match.mask(), spec, field, ".ternary.mask", owner)};
  if (bits_of(key.mask) == 0)
    bad(field + ".ternary.mask", spec, owner, "must not be 0; leave the field out to match every value");
  if (!within(key.value, key.mask))
    bad(field + ".ternary.value", spec, owner, shown(key.value) + " has bits outside of the mask " + shown(key.mask));
  return key;
}

KeyMatch range(const FieldSpec& spec, const pb::FieldMatch::Range& match, const std::string& field,
               const std::string& owner) {
  KeyMatch key{.value = value(match.low(), spec, field, ".range.low", owner),
               .mask = value(match.high(), spec, field, ".range.high", owner)};
  if (compare(key.value, key.mask) > 0)
    bad(field + ".range.low", spec, owner, shown(key.value) + " is above high, " + shown(key.mask));
  if (bits_of(key.value) == 0 && key.mask == all_ones(spec.width))
    bad(field + ".range", spec, owner, "leave the field out to match every value");
  return key;
}

}  // namespace

KeyMatch omitted(const FieldSpec& spec, const std::string& field, const std::string& owner) {
  if (spec.match == info::MatchField::EXACT) bad(field, spec, owner, "an exact field is missing");
  return {.any = true, .value = {}, .mask = {}};
}

KeyMatch match_of(const FieldSpec& spec, const pb::FieldMatch& match, const std::string& field,
                  const std::string& owner) {
  using Type = info::MatchField;
  switch (spec.match) {
    case Type::EXACT:
      if (!match.has_exact()) bad(field, spec, owner, "must be exact");
      return {.value = value(match.exact().value(), spec, field, ".exact.value", owner), .mask = {}};
    case Type::LPM:
      if (!match.has_lpm()) bad(field, spec, owner, "must be lpm");
      return lpm(spec, match.lpm(), field, owner);
    case Type::TERNARY:
      if (!match.has_ternary()) bad(field, spec, owner, "must be ternary");
      return ternary(spec, match.ternary(), field, owner);
    case Type::RANGE:
      if (!match.has_range()) bad(field, spec, owner, "must be range");
      return range(spec, match.range(), field, owner);
    case Type::OPTIONAL:
      if (!match.has_optional()) bad(field, spec, owner, "must be optional");
      return {.value = value(match.optional().value(), spec, field, ".optional.value", owner),
              .mask = all_ones(spec.width)};
    default:
      bad(field, spec, owner, "its match type is not supported");
  }
}

std::vector<KeyMatch> key_of(const TableSpec& table, const Matches& matches, const char* field) {
  std::vector<KeyMatch> key(table.fields.size());
  uint64_t seen = 0;  // bits by index of the field
  const auto place = [&](int i) { return std::string(field) + '[' + std::to_string(i) + ']'; };
  const auto owner = [&] { return "table \"" + table.name + '"'; };
  for (int i = 0; i < matches.size(); ++i) {
    const pb::FieldMatch& match = matches[i];
    const auto spec = std::ranges::find(table.fields, match.field_id(), &FieldSpec::id);
    if (spec == table.fields.end())
      refuse(Code::INVALID_ARGUMENT,
             place(i) + ".field_id: " + owner() + " has no field with id " + std::to_string(match.field_id()));
    const auto index = static_cast<size_t>(spec - table.fields.begin());
    if (index < 64) {
      if ((seen >> index & 1) != 0) bad(place(i) + ".field_id", *spec, owner(), "is there twice");
      seen |= uint64_t{1} << index;
    }
    if (spec->match == info::MatchField::EXACT && match.has_exact()) {
      const std::string& bytes = match.exact().value();
      const std::string_view number = shortest(bytes);
      if (!bytes.empty() && bits_of(number) <= spec->width) {
        key[index].value = number;
        continue;
      }
    }
    key[index] = match_of(*spec, match, place(i), owner());
  }
  for (size_t i = 0; i < key.size(); ++i)
    if (i < 64 ? (seen >> i & 1) == 0 : key[i].value.empty()) key[i] = omitted(table.fields[i], field, owner());
  return key;
}

void write_matches(const std::vector<FieldSpec>& fields, const std::vector<KeyMatch>& key, Matches* out) {
  for (size_t i = 0; i < fields.size() && i < key.size(); ++i) {
    const KeyMatch& match = key[i];
    if (match.any) continue;
    const auto number = [](const ByteString& bytes) { return std::string(shortest(bytes)); };
    switch (fields[i].match) {
      case info::MatchField::LPM: {
        if (match.prefix_length == 0) continue;
        auto* lpm = out->Add();
        lpm->set_field_id(fields[i].id);
        lpm->mutable_lpm()->set_value(number(match.value));
        lpm->mutable_lpm()->set_prefix_len(static_cast<int32_t>(match.prefix_length));
        break;
      }
      case info::MatchField::TERNARY: {
        if (bits_of(match.mask) == 0) continue;
        auto* ternary = out->Add();
        ternary->set_field_id(fields[i].id);
        ternary->mutable_ternary()->set_value(number(match.value));
        ternary->mutable_ternary()->set_mask(number(match.mask));
        break;
      }
      case info::MatchField::RANGE: {
        auto* range = out->Add();
        range->set_field_id(fields[i].id);
        range->mutable_range()->set_low(number(match.value));
        range->mutable_range()->set_high(number(match.mask));
        break;
      }
      case info::MatchField::OPTIONAL: {
        if (bits_of(match.mask) == 0) continue;
        auto* optional = out->Add();
        optional->set_field_id(fields[i].id);
        optional->mutable_optional()->set_value(number(match.value));
        break;
      }
      default: {
        auto* exact = out->Add();
        exact->set_field_id(fields[i].id);
        exact->mutable_exact()->set_value(number(match.value));
        break;
      }
    }
  }
}

ActionCall call_of(const std::vector<ActionUse>& uses, const pb::Action& action, CallUse use, const std::string& field,
                   const std::string& owner) {
  const auto found = std::ranges::find(uses, action.action_id(), [](const ActionUse& each) { return each.action->id; });
  if (found == uses.end())
    refuse(Code::INVALID_ARGUMENT,
           field + ".action_id: " + owner + " has no action with id " + std::to_string(action.action_id()));
  const ActionSpec& spec = *found->action;
  if (use == CallUse::kEntry ? !found->in_entries : !found->as_default)
    refuse(Code::PERMISSION_DENIED,
           field + ".action_id: action \"" + spec.name + "\" of " + owner +
               (use == CallUse::kEntry ? " is for the default entry only" : " cannot be the default action"));
  ActionCall call{found->index, std::vector<ByteString>(spec.params.size())};
  const auto bad_param = [&](const std::string& where, const std::string& text) {
    refuse(Code::INVALID_ARGUMENT, field + ".params" + where + ": " + text + " (action \"" + spec.name + "\")");
  };
  for (int i = 0; i < action.params_size(); ++i) {
    const pb::Action::Param& param = action.params(i);
    const auto place = [&] { return '[' + std::to_string(i) + ']'; };
    const auto at = std::ranges::find(spec.params, param.param_id(), &ParamSpec::id);
    if (at == spec.params.end())
      bad_param(place() + ".param_id", "there is no parameter with id " + std::to_string(param.param_id()));
    ByteString& arg = call.args[static_cast<size_t>(at - spec.params.begin())];
    if (!arg.empty()) bad_param(place() + ".param_id", "parameter \"" + at->name + "\" is there twice");
    const std::string_view number = shortest(param.value());
    if (param.value().empty() || bits_of(number) > at->width)
      bad_param(place() + ".value", "parameter \"" + at->name + "\": " + fault_of(param.value(), at->width));
    arg = number;
  }
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.args[i].empty()) bad_param("", "parameter \"" + spec.params[i].name + "\" is missing");
  return call;
}

void write_action(const std::vector<ActionUse>& uses, const ActionCall& call, pb::Action* out) {
  const auto found = std::ranges::find(uses, call.action, &ActionUse::index);
  if (found == uses.end()) return;
  out->set_action_id(found->action->id);
  for (size_t i = 0; i < found->action->params.size() && i < call.args.size(); ++i) {
    pb::Action::Param* param = out->add_params();
    param->set_param_id(found->action->params[i].id);
    param->set_value(std::string(shortest(call.args[i])));
  }
}

}  // namespace orrery::p4::service
