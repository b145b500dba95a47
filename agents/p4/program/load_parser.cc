// SPDX-License-Identifier: Apache-2.0
// Parser, value sets, deparser, checksums.
#include <algorithm>

#include "p4/program/loader.h"

namespace orrery::p4 {

void Loader::load_errors() {
  ParserErrors& errors = code_->errors;
  for (const JsonAt& at : json_.items("errors")) {
    const std::vector<JsonAt> pair = at.tuple(2);
    const std::string name = pair[0].text();
    const auto value = static_cast<uint32_t>(pair[1].number(0, UINT32_MAX));
    errors.names.emplace_back(value, name);
    if (name == "NoError") errors.none = value;
    if (name == "PacketTooShort") errors.too_short = value;
    if (name == "StackOutOfBounds") errors.stack_bounds = value;
    if (name == "HeaderTooShort") errors.header_too_short = value;
    if (name == "ParserTimeout") errors.timeout = value;
    if (name == "ParserInvalidArgument") errors.argument = value;
  }
}

void Loader::load_value_sets() {
  for (const JsonAt& at : json_.items("parse_vsets")) {
    ValueSetInfo info{.name = at["name"].text(),
                      .width = static_cast<uint32_t>(at["compressed_bitwidth"].number(1, kMaxSelectBits))};
    value_set_names_.emplace(info.name, program_->value_sets.size());
    program_->value_sets.push_back(std::move(info));
  }
}

void Loader::load_parser() {
  const std::vector<JsonAt> parsers = json_["parsers"].items();
  if (parsers.empty()) return;
  if (parsers.size() > 1) json_["parsers"].unsupported("a program of more than one parser");
  const JsonAt& parser = parsers[0];
  code_->parser_name = parser["name"].text();
  const std::vector<JsonAt> states = parser["parse_states"].items();
  for (const JsonAt& at : states)
    if (!state_names_.emplace(at["name"].text(), state_names_.size()).second)
      at["name"].refuse("is the name of two states");
  for (const JsonAt& at : states) {
    ParserStateCode state{.name = at["name"].text(), .ops = {}, .key = {}, .transitions = {}};
    for (const JsonAt& op : at["parser_ops"].items()) state.ops.push_back(parser_op(op));
    load_transition_key(at, state);
    load_transitions(at, state);
    code_->states.push_back(std::move(state));
  }
  code_->first_state = static_cast<int32_t>(lookup(state_names_, parser["init_state"], "parser state"));
}

ParserOp Loader::extract_op(const JsonAt& at, bool with_length) {
  using Kind = ParserOp::Kind;
  const std::vector<JsonAt> params = at["parameters"].tuple(with_length ? 2 : 1);
  const std::string type = params[0]["type"].text();
  const JsonAt value = params[0]["value"];
  ParserOp out{.kind = Kind::kExtract, .a = {}, .b = {}};
  uint32_t header = 0;
  if (type == "regular") {
    header = out.index = lookup(header_names_, value, "header");
  } else if (type == "stack") {
    out.kind = Kind::kExtractStack;
    out.index = lookup(stack_names_, value, "header stack");
    header = code_->stacks[out.index].elements[0];
  } else if (type == "union_stack") {
    const std::vector<JsonAt> pair = value.tuple(2);
    out.kind = Kind::kExtractUnionStack;
    out.index = lookup(union_stack_names_, pair[0], "header union stack");
    const uint32_t first = code_->union_stacks[out.index].elements[0];
    out.member = union_member(union_types_[first], pair[1]);
    header = code_->unions[first].headers[out.member];
  } else {
    params[0]["type"].unsupported("extraction of " + in_quotes(type));
  }
  const HeaderType& header_type = code_->header_types[code_->headers[header].type];
  if (header_type.fixed_bits % 8 != 0) value.unsupported("a header that is not of whole bytes");
  if ((header_type.varbit != kNone) != with_length)
    at.refuse(with_length ? "needs a header with a varbit field" : "needs the length of the varbit field");
  if (with_length) out.a = operand(params[1], {.action = nullptr, .action_code = nullptr, .parser = true}, 0);
  return out;
}

ParserOp Loader::parser_op(const JsonAt& at) {
  using Kind = ParserOp::Kind;
  const Scope scope{.action = nullptr, .action_code = nullptr, .parser = true};
  const std::string op = at["op"].text();
  ParserOp out{.kind = Kind::kPrimitive, .a = {}, .b = {}};
  if (op == "extract") return extract_op(at, false);
  if (op == "extract_VL") return extract_op(at, true);
  if (op == "set" || op == "primitive") {
    const Instruction each =
        op == "set" ? assignment(at["parameters"].tuple(2), scope) : instruction(at["parameters"].tuple(1)[0], scope);
    if (each.op == Prim::kJump || each.op == Prim::kJumpIfZero || each.op == Prim::kExit)
      at.unsupported("a jump or exit in a parser");
    out.index = static_cast<uint32_t>(code_->instructions.size());
    code_->instructions.push_back(each);
    return out;
  }
  if (op == "verify") {
    const std::vector<JsonAt> params = at["parameters"].tuple(2);
    out.kind = Kind::kVerify;
    out.a = operand(params[0], scope, 0);
    out.b = operand(params[1], scope, 32);
    return out;
  }
  if (op == "advance" || op == "shift") {
    const JsonAt by = at["parameters"].tuple(1)[0];
    out.kind = op == "advance" ? Kind::kAdvance : Kind::kShift;
    out.a = by.is_number() ? constant_operand(by.number(0, 1 << 20)) : operand(by, scope, 0);
    return out;
  }
  at["op"].unsupported("parser operation " + in_quotes(op));
}

void Loader::load_transition_key(const JsonAt& at, ParserStateCode& state) {
  const Scope scope{.action = nullptr, .action_code = nullptr, .parser = true};
  uint32_t bits = 0;
  for (const JsonAt& part : at.items("transition_key")) {
    const Term value = term(part, scope);
    const uint16_t width = value.step.width;
    if (width == 0 || value.type != Term::Type::kData) part.unsupported("a select over an expression");
    const Operand from = operand_of(value, width, part);
    const bool is_field = from.kind == Operand::Kind::kField;
    state.key.push_back(
        {is_field ? KeyPart::Kind::kField : KeyPart::Kind::kExpression, width, from.index, state.key_words});
    state.key_words += words_of(width);
    bits += width;
    if (bits > kMaxSelectBits) at["transition_key"].unsupported("so wide a select");
  }
}

std::vector<uint64_t> Loader::transition_words(const JsonAt& at, const ParserStateCode& state) const {
  uint32_t padded = 0;
  for (const KeyPart& part : state.key) padded += (part.width + 7u) / 8 * 8;
  Words number = at.hex(padded);
  number.push_back(0);
  std::vector<uint64_t> out(state.key_words);
  uint32_t place = 0;
  for (size_t i = state.key.size(); i > 0; --i) {
    const KeyPart& part = state.key[i - 1];
    for (uint32_t word = 0; word < words_of(part.width); ++word) {
      const uint32_t from = place + word * 64;
      uint64_t value = number[from / 64] >> (from % 64);
      if (from % 64 != 0) value |= number[from / 64 + 1] << (64 - from % 64);
      out[part.word + word] = value & low_mask(std::min(64u, part.width - word * 64));
    }
    place += (part.width + 7u) / 8 * 8;
  }
  return out;
}

void Loader::load_transitions(const JsonAt& at, ParserStateCode& state) {
  for (const JsonAt& each : at["transitions"].items()) {
    const auto next_state = each.find("next_state");
    const int32_t next = next_state ? static_cast<int32_t>(lookup(state_names_, *next_state, "parser state")) : kNone;
    const auto value = each.find("value");
    std::string type = each.has("type") ? each["type"].text() : "hexstr";
    if (!each.has("type") && (!value || (value->is_text() && value->text() == "default"))) type = "default";
    if (type == "default") {
      state.default_next = next;
      continue;
    }
    Transition out{.kind = Transition::Kind::kValue,
                   .words = static_cast<uint32_t>(code_->match_words.size()),
                   .value_set = 0,
                   .next = next};
    if (type == "hexstr") {
      const std::vector<uint64_t> words = transition_words(each["value"], state);
      code_->match_words.insert(code_->match_words.end(), words.begin(), words.end());
    } else if (type == "parse_vset") {
      out.kind = Transition::Kind::kValueSet;
      out.value_set = lookup(value_set_names_, each["value"], "parser value set");
      uint32_t bits = 0;
      for (const KeyPart& part : state.key) bits += part.width;
      if (bits != program_->value_sets[out.value_set].width) each["value"].refuse("is not as wide as the select");
    } else {
      each["type"].unsupported("transition " + in_quotes(type));
    }
    const auto mask = each.find("mask");
    std::vector<uint64_t> mask_words(state.key_words);
    if (mask) {
      mask_words = transition_words(*mask, state);
    } else {
      for (const KeyPart& part : state.key)
        for (uint32_t word = 0; word < words_of(part.width); ++word)
          mask_words[part.word + word] = low_mask(std::min(64u, part.width - word * 64));
    }
    code_->match_words.insert(code_->match_words.end(), mask_words.begin(), mask_words.end());
    state.transitions.push_back(out);
  }
}

void Loader::load_deparser() {
  const std::vector<JsonAt> deparsers = json_["deparsers"].items();
  if (deparsers.size() != 1) json_["deparsers"].unsupported("a program of other than one deparser");
  if (!deparsers[0].items("primitives").empty()) deparsers[0]["primitives"].unsupported("a deparser with primitives");
  for (const JsonAt& name : deparsers[0]["order"].items()) {
    const uint32_t header = lookup(header_names_, name, "header");
    if (code_->header_types[code_->headers[header].type].fixed_bits % 8 != 0)
      name.unsupported("a header that is not of whole bytes");
    code_->deparse.push_back(header);
  }
}

void Loader::load_checksums() {
  for (const JsonAt& at : json_.items("checksums")) {
    if (at["type"].text() != "generic") at["type"].unsupported("checksum " + in_quotes(at["type"].text()));
    const FieldRef to = field(at["target"]);
    if (to.width > 64 || to.is_varbit) at["target"].unsupported("a checksum of more than 64 bits");
    ChecksumCode out{.name = at["name"].text(),
                     .header = to.header,
                     .word = to.word,
                     .width = static_cast<uint16_t>(to.width),
                     .calculation = lookup(calculation_names_, at["calculation"], "calculation"),
                     .condition = {}};
    if (const auto condition = at.find("if_cond")) out.condition = operand(*condition, {}, 0, Term::Type::kBool);
    const auto flag = [&](const char* name) {
      const auto each = at.find(name);
      return !each || each->boolean();
    };
    if (flag("verify")) code_->verified.push_back(out);
    if (flag("update")) code_->updated.push_back(std::move(out));
  }
}

}  // namespace orrery::p4
