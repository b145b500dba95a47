// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "p4/program/loader.h"

namespace orrery::p4 {

namespace {

using Type = Term::Type;

constexpr size_t kMaxPrimitives = 1 << 16;  // of an action

void expect_params(const JsonAt& at, const std::vector<JsonAt>& params, size_t count) {
  if (params.size() != count) at.refuse("must have " + std::to_string(count) + " parameters");
}

JsonAt value_of(const JsonAt& param, const char* type) {
  if (param["type"].text() != type) param["type"].refuse(std::string("must be ") + type);
  return param["value"];
}

}  // namespace

void Loader::load_actions() {
  for (const JsonAt& at : json_.items("actions")) {
    ActionInfo info{
        .name = at["name"].text(), .id = static_cast<uint32_t>(at["id"].number(0, UINT32_MAX)), .params = {}};
    ActionCode code{.first = static_cast<uint32_t>(code_->instructions.size()), .arg_words = {}};
    for (const JsonAt& param : at["runtime_data"].items()) {
      info.params.push_back({param["name"].text(), static_cast<uint32_t>(param["bitwidth"].number(1, kMaxFieldBits))});
      code.arg_words.push_back(code.args_size);
      code.args_size += words_of(info.params.back().width);
    }
    const std::vector<JsonAt> primitives = at["primitives"].items();
    if (primitives.size() > kMaxPrimitives) at["primitives"].unsupported("an action of so many primitives");
    const Scope scope{&info, &code, false};
    for (const JsonAt& primitive : primitives) {
      const Instruction each = instruction(primitive, scope);
      const auto place = static_cast<uint32_t>(code_->instructions.size()) - code.first;
      if (each.op == Prim::kJump || each.op == Prim::kJumpIfZero) {
        if (each.index <= place) primitive.unsupported("a jump back, which could be endless,");
        if (each.index > primitives.size()) primitive.refuse("jumps behind the action");
      }
      code_->instructions.push_back(each);
    }
    code.count = static_cast<uint32_t>(primitives.size());
    if (!action_ids_.emplace(info.id, program_->actions.size()).second) at["id"].refuse("is the id of two actions");
    program_->actions.push_back(std::move(info));
    code_->actions.push_back(std::move(code));
  }
}

Instruction Loader::instruction(const JsonAt& at, const Scope& scope) {
  const std::string op = at["op"].text();
  const std::vector<JsonAt> params = at.items("parameters");
  static const std::map<std::string, size_t, std::less<>> kCounts{{"assign", 2},
                                                                  {"assign_VL", 2},
                                                                  {"assign_header", 2},
                                                                  {"assign_union", 2},
                                                                  {"assign_header_stack", 2},
                                                                  {"assign_union_stack", 2},
                                                                  {"add_header", 1},
                                                                  {"remove_header", 1},
                                                                  {"push", 2},
                                                                  {"pop", 2},
                                                                  {"exit", 0},
                                                                  {"clone_ingress_pkt_to_egress", 2},
                                                                  {"clone_egress_pkt_to_egress", 2},
                                                                  {"resubmit", 1},
                                                                  {"recirculate", 1},
                                                                  {"generate_digest", 2},
                                                                  {"truncate", 1},
                                                                  {"modify_field_with_hash_based_offset", 4},
                                                                  {"modify_field_rng_uniform", 3},
                                                                  {"count", 2},
                                                                  {"execute_meter", 3},
                                                                  {"register_read", 3},
                                                                  {"register_write", 3},
                                                                  {"_jump", 1},
                                                                  {"_jump_if_zero", 2},
                                                                  {"assert", 1},
                                                                  {"assume", 1},
                                                                  {"log_msg", 2}};
  if (op == "mark_to_drop" || op == "drop") return mark_to_drop(at, params);
  const auto count = kCounts.find(op);
  if (count == kCounts.end()) at["op"].unsupported("primitive " + in_quotes(op));
  expect_params(at, params, count->second);
  Instruction out{.op = Prim::kExit, .target = {}, .a = {}, .b = {}};
  if (op == "assign") return assignment(params, scope);
  if (header_instruction(op, params, scope, out) || packet_instruction(op, params, scope, out) ||
      state_instruction(op, params, scope, out))
    return out;
  at["op"].unsupported("primitive " + in_quotes(op));
}

// p4c hands over a copy of standard_metadata where the program does.
Instruction Loader::mark_to_drop(const JsonAt& at, const std::vector<JsonAt>& params) {
  uint32_t header = 0;
  if (params.empty()) {
    const auto standard = header_names_.find(std::string_view("standard_metadata"));
    if (standard == header_names_.end()) at.refuse("there is no header standard_metadata");
    header = standard->second;
  } else {
    expect_params(at, params, 1);
    header = lookup(header_names_, value_of(params[0], "header"), "header");
  }
  const FieldRef spec = field_of(header, "egress_spec", at);
  Instruction out{.op = Prim::kMarkToDrop,
                  .target = {spec.word, static_cast<uint16_t>(std::min(spec.width, 64u)), kNone},
                  .a = {},
                  .b = {}};
  for (const FieldType& each : code_->header_types[code_->headers[header].type].fields)
    if (each.name == "mcast_grp") out.index = field_of(header, each.name, at).word;
  return out;
}

Instruction Loader::assignment(const std::vector<JsonAt>& params, const Scope& scope) {
  Instruction out{.op = Prim::kAssign, .target = target(params[0], scope), .a = {}, .b = {}};
  if (out.target.width > 64) out.op = Prim::kAssignWide;
  out.a = operand(params[1], scope, out.target.width);
  return out;
}

bool Loader::header_instruction(const std::string& op, const std::vector<JsonAt>& params, const Scope& scope,
                                Instruction& out) {
  const auto two = [&](Prim prim, Type type) {
    const Term to = term(params[0], scope);
    const Term from = term(params[1], scope);
    if (to.type != type) params[0].refuse("is of the wrong kind");
    if (from.type != type || from.of_type != to.of_type) params[1].refuse("must be of the type of what is assigned to");
    out.op = prim;
    out.a = operand_of(to, 0, params[0]);
    out.b = operand_of(from, 0, params[1]);
    if (type == Type::kStack || type == Type::kUnionStack) {
      const std::vector<Stack>& stacks = type == Type::kStack ? code_->stacks : code_->union_stacks;
      if (stacks[to.number.words[0]].elements.size() != stacks[from.number.words[0]].elements.size())
        params[1].refuse("must have as many elements as what is assigned to");
    }
    return true;
  };
  if (op == "assign_header") return two(Prim::kAssignHeader, Type::kHeader);
  if (op == "assign_union") return two(Prim::kAssignUnion, Type::kUnion);
  if (op == "assign_header_stack") return two(Prim::kAssignStack, Type::kStack);
  if (op == "assign_union_stack") return two(Prim::kAssignUnionStack, Type::kUnionStack);
  if (op == "assign_VL") {
    for (size_t i = 0; i < 2; ++i) {
      const JsonAt& at = params[i];
      if (at["type"].text() != "field") at["type"].unsupported("assign_VL of " + in_quotes(at["type"].text()));
      const FieldRef ref = field(at["value"]);
      if (!ref.is_varbit) at["value"].refuse("must be a varbit field");
      (i == 0 ? out.a : out.b) = constant_operand(ref.header);
    }
    out.op = Prim::kAssignVarbit;
    return true;
  }
  if (op == "add_header" || op == "remove_header") {
    out.op = op == "add_header" ? Prim::kAddHeader : Prim::kRemoveHeader;
    out.a = header_operand(params[0], scope, Type::kHeader);
    return true;
  }
  if (op == "push" || op == "pop") {
    const Term stack = term(params[0], scope);
    if (stack.type == Type::kStack) {
      out.op = op == "push" ? Prim::kPush : Prim::kPop;
    } else if (stack.type == Type::kUnionStack) {
      out.op = op == "push" ? Prim::kPushUnions : Prim::kPopUnions;
    } else {
      params[0].refuse("must be a stack");
    }
    out.index = static_cast<uint32_t>(stack.number.words[0]);
    out.a = operand(params[1], scope, 32);
    return true;
  }
  return false;
}

uint32_t Loader::field_list(const JsonAt& at) const {
  const Words id = value_of(at, "hexstr").hex(32);
  const auto it = field_list_ids_.find(id[0]);
  return it == field_list_ids_.end() ? UINT32_MAX : it->second;
}

bool Loader::packet_instruction(const std::string& op, const std::vector<JsonAt>& params, const Scope& scope,
                                Instruction& out) {
  if (op == "exit") {
    out.op = Prim::kExit;
  } else if (op == "clone_ingress_pkt_to_egress" || op == "clone_egress_pkt_to_egress") {
    out.op = op == "clone_ingress_pkt_to_egress" ? Prim::kCloneIngress : Prim::kCloneEgress;
    out.a = operand(params[0], scope, 32);
    out.index = field_list(params[1]);
  } else if (op == "resubmit" || op == "recirculate") {
    out.op = op == "resubmit" ? Prim::kResubmit : Prim::kRecirculate;
    out.index = field_list(params[0]);
  } else if (op == "generate_digest") {
    const JsonAt id = value_of(params[1], "hexstr");
    const auto it = learn_list_ids_.find(id.hex(32)[0]);
    if (it == learn_list_ids_.end()) id.refuse("is the id of no learn list");
    out.op = Prim::kDigest;
    out.index = it->second;
  } else if (op == "truncate") {
    out.op = Prim::kTruncate;
    out.a = operand(params[0], scope, 32);
  } else if (op == "_jump" || op == "_jump_if_zero") {
    out.op = op == "_jump" ? Prim::kJump : Prim::kJumpIfZero;
    const Term to = term(params.back(), scope);
    if (!to.is_constant() || to.number.negative || to.number.bits() > 31)
      params.back().unsupported("a jump to a place that is not constant");
    out.index = static_cast<uint32_t>(to.number.words[0]);
    if (op == "_jump_if_zero") out.a = operand(params[0], scope, 0);
  } else if (op == "assert" || op == "assume") {
    out.op = op == "assert" ? Prim::kAssert : Prim::kAssume;
    out.a = operand(params[0], scope, 0);
  } else if (op == "log_msg") {
    LogMessage message{.format = value_of(params[0], "string").text(), .values = {}};
    const JsonAt values = value_of(params[1], "parameters_vector");
    if (values.is_array())
      for (const JsonAt& value : values.items()) message.values.push_back(operand(value, scope, 0));
    out.op = Prim::kLog;
    out.index = static_cast<uint32_t>(code_->log_messages.size());
    code_->log_messages.push_back(std::move(message));
  } else {
    return false;
  }
  return true;
}

bool Loader::state_instruction(const std::string& op, const std::vector<JsonAt>& params, const Scope& scope,
                               Instruction& out) {
  const auto narrow_target = [&](const JsonAt& at) {
    out.target = target(at, scope);
    if (out.target.width > 64) at.unsupported("a result of more than 64 bits");
  };
  if (op == "modify_field_with_hash_based_offset") {
    out.op = Prim::kHash;
    narrow_target(params[0]);
    out.a = operand(params[1], scope, 64);
    out.index = lookup(calculation_names_, value_of(params[2], "calculation"), "calculation");
    out.b = operand(params[3], scope, 64);
  } else if (op == "modify_field_rng_uniform") {
    out.op = Prim::kRandom;
    narrow_target(params[0]);
    out.a = operand(params[1], scope, 64);
    out.b = operand(params[2], scope, 64);
  } else if (op == "count") {
    out.op = Prim::kCount;
    out.index = lookup(counter_names_, value_of(params[0], "counter_array"), "counter array");
    if (program_->counters[out.index].direct) params[0].refuse("is a direct counter");
    out.a = operand(params[1], scope, 64);
  } else if (op == "execute_meter") {
    out.op = Prim::kMeter;
    out.index = lookup(meter_names_, value_of(params[0], "meter_array"), "meter array");
    if (program_->meters[out.index].direct) params[0].refuse("is a direct meter");
    out.a = operand(params[1], scope, 64);
    narrow_target(params[2]);
  } else if (op == "register_read") {
    out.op = Prim::kRegisterRead;
    out.target = target(params[0], scope);
    out.index = lookup(register_names_, value_of(params[1], "register_array"), "register array");
    out.a = operand(params[2], scope, 64);
  } else if (op == "register_write") {
    out.op = Prim::kRegisterWrite;
    out.index = lookup(register_names_, value_of(params[0], "register_array"), "register array");
    out.a = operand(params[1], scope, 64);
    out.b = operand(params[2], scope, program_->registers[out.index].width);
  } else {
    return false;
  }
  return true;
}

}  // namespace orrery::p4
