// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "p4/program/loader.h"

namespace orrery::p4 {

namespace {

using Type = Term::Type;

constexpr uint32_t kMaxNesting = 200;
// More than any number has: of an expression that is refused where all of them count.
constexpr uint32_t kTooManyBits = 1 << 20;

Term field_term(const FieldRef& ref) {
  Term out{.args = {}, .number = {}};
  out.step = {.op = ref.is_signed ? Op::kSignedField : Op::kField,
              .is_signed = ref.is_signed,
              .width = static_cast<uint16_t>(ref.width),
              .a = ref.word};
  out.bits = ref.is_signed ? ref.width : ref.width + 1;
  out.never_negative = !ref.is_signed;
  if (ref.word_in_header == 0) out.type = Type::kData;
  return out;
}

Term instance(Type type, uint32_t index, int32_t of_type) {
  Term out{.type = type, .args = {}, .number = {false, {index}}};
  out.step.op = Op::kConst;
  out.bits = 33;
  out.of_type = of_type;
  return out;
}

Term made(Op op, Type type, uint32_t bits, bool never_negative, std::vector<Term> args) {
  Term out{.type = type, .args = std::move(args), .number = {}};
  out.step.op = op;
  out.bits = std::min(bits, kTooManyBits);
  out.never_negative = never_negative;
  return out;
}

uint32_t shifted_bits(const Term& left, const Term& right) {
  uint64_t most = right.is_constant() ? right.number.words[0] : low_mask(std::min(right.bits, 32u) - 1);
  if (right.is_constant() && right.number.bits() > 32) most = kMaxNumberBits;
  return static_cast<uint32_t>(std::min<uint64_t>(left.bits + most, kMaxNumberBits));
}

}  // namespace

Term Loader::constant(const HexNumber& number) {
  Term out{.args = {}, .number = number};
  out.step.op = Op::kConst;
  out.bits = number.bits() + 1;
  out.never_negative = !number.negative;
  return out;
}

Term Loader::term(const JsonAt& at, const Scope& scope) {
  if (nesting_ >= kMaxNesting) at.unsupported("an expression nested so deeply");
  ++nesting_;
  Term out;
  if (at.has("op")) {
    out = operation(at, scope);
  } else {
    const std::string type = at["type"].text();
    out = type == "expression" ? term(at["value"], scope) : leaf(type, at["value"], scope);
  }
  --nesting_;
  return out;
}

Term Loader::leaf(const std::string& type, const JsonAt& value, const Scope& scope) {
  if (type == "field") {
    const FieldRef ref = field(value);
    if (ref.is_varbit) return instance(Type::kVarbit, ref.header, kNone);
    return field_term(ref);
  }
  if (type == "hexstr") return constant(value.hex());
  if (type == "bool") {
    Term out = constant({false, {value.boolean() ? 1u : 0u}});
    out.type = Type::kBool;
    return out;
  }
  if (type == "header") {
    const uint32_t index = lookup(header_names_, value, "header");
    return instance(Type::kHeader, index, static_cast<int32_t>(code_->headers[index].type));
  }
  if (type == "header_union") {
    const uint32_t index = lookup(union_names_, value, "header union");
    return instance(Type::kUnion, index, static_cast<int32_t>(union_types_[index]));
  }
  if (type == "header_stack") {
    const uint32_t index = lookup(stack_names_, value, "header stack");
    return instance(Type::kStack, index, static_cast<int32_t>(code_->headers[code_->stacks[index].elements[0]].type));
  }
  if (type == "header_union_stack") {
    const uint32_t index = lookup(union_stack_names_, value, "header union stack");
    return instance(Type::kUnionStack, index,
                    static_cast<int32_t>(union_types_[code_->union_stacks[index].elements[0]]));
  }
  if (type == "runtime_data" || type == "local") {
    if (scope.action == nullptr) value.refuse("there are no arguments here");
    const uint64_t index = value.number(0, UINT32_MAX);
    if (index >= scope.action->params.size())
      value.refuse("is not the place of a parameter of " + in_quotes(scope.action->name));
    const uint32_t width = scope.action->params[index].width;
    Term out = made(Op::kArg, Type::kData, width + 1, true, {});
    out.step.width = static_cast<uint16_t>(width);
    out.step.a = scope.action_code->arg_words[index];
    return out;
  }
  if (type == "register") {
    const std::vector<JsonAt> parts = value.tuple(2);
    const uint32_t index = lookup(register_names_, parts[0], "register array");
    const uint32_t width = program_->registers[index].width;
    Term out = made(Op::kRegister, Type::kData, width + 1, true, {term(parts[1], scope)});
    out.step.width = static_cast<uint16_t>(width);
    out.step.a = index;
    return out;
  }
  if (type == "stack_field" || type == "union_stack_field") {
    const bool of_union = type == "union_stack_field";
    const std::vector<JsonAt> parts = value.tuple(of_union ? 3 : 2);
    const uint32_t index = of_union ? lookup(union_stack_names_, parts[0], "header union stack")
                                    : lookup(stack_names_, parts[0], "header stack");
    uint32_t member = 0;
    uint32_t header = 0;
    if (of_union) {
      const uint32_t first = code_->union_stacks[index].elements[0];
      member = union_member(union_types_[first], parts[1]);
      header = code_->unions[first].headers[member];
    } else {
      header = code_->stacks[index].elements[0];
    }
    Term last =
        of_union ? made(Op::kUnionStackLast, Type::kHeader, 33, true, {})
                 : made(Op::kStackElement, Type::kHeader, 33, true, {made(Op::kStackLast, Type::kData, 34, false, {})});
    last.step.a = index;
    last.step.b = member;
    if (!of_union) last.args[0].step.a = index;
    // p4c names the last header itself so, too.
    const HeaderType& header_type = code_->header_types[code_->headers[header].type];
    if (parts.back().text() == "last" &&
        std::ranges::find(header_type.fields, "last", &FieldType::name) == header_type.fields.end()) {
      last.of_type = static_cast<int32_t>(code_->headers[header].type);
      return last;
    }
    const FieldRef ref = field_of(header, parts.back().text(), parts.back());
    if (ref.is_varbit) value.unsupported("a varbit field in an expression");
    Term out = made(Op::kAccessField, Type::kData, ref.is_signed ? ref.width : ref.width + 1, !ref.is_signed, {last});
    out.step.is_signed = ref.is_signed;
    out.step.width = static_cast<uint16_t>(ref.width);
    out.step.b = ref.word_in_header;
    return out;
  }
  if (type == "lookahead") {
    if (!scope.parser) value.refuse("lookahead is only in parsers");
    const std::vector<JsonAt> parts = value.tuple(2);
    Term out = made(Op::kLookahead, Type::kData, 0, true, {});
    out.step.a = static_cast<uint32_t>(parts[0].number(0, 1 << 20));
    out.step.width = static_cast<uint16_t>(parts[1].number(1, kMaxFieldBits));
    out.bits = out.step.width + 1u;
    return out;
  }
  value.unsupported(in_quotes(type) + " in an expression");
}

uint32_t Loader::union_member(uint32_t union_type, const JsonAt& at) const {
  const std::vector<std::string>& members = union_members_[union_type];
  const auto it = std::ranges::find(members, at.text());
  if (it == members.end()) at.refuse("is not a member of the header union");
  return static_cast<uint32_t>(it - members.begin());
}

Term Loader::element_of(const JsonAt& at, const Scope& scope, Term::Type stack_type) {
  const Term stack = term(at["left"], scope);
  if (stack.type != stack_type) at["left"].refuse("must be a stack of that kind");
  const bool of_unions = stack_type == Type::kUnionStack;
  Term index = term(at["right"], scope);
  const auto stack_index = static_cast<uint32_t>(stack.number.words[0]);
  const std::vector<uint32_t>& elements = (of_unions ? code_->union_stacks : code_->stacks)[stack_index].elements;
  const Type type = of_unions ? Type::kUnion : Type::kHeader;
  if (index.is_constant() && !index.number.negative && index.number.bits() <= 32 &&
      index.number.words[0] < elements.size())
    return instance(type, elements[index.number.words[0]], stack.of_type);
  Term out = made(of_unions ? Op::kUnionStackElement : Op::kStackElement, type, 33, false, {std::move(index)});
  out.step.a = stack_index;
  out.of_type = stack.of_type;
  return out;
}

Term Loader::member_of(const JsonAt& at, const Scope& scope) {
  Term left = term(at["left"], scope);
  const JsonAt right = at["right"];
  if (at["op"].text() == "access_union_header") {
    if (left.type != Type::kUnion) at["left"].refuse("must be a header union");
    const auto union_type = static_cast<uint32_t>(left.of_type);
    const uint64_t member = right.number(0, UINT32_MAX);
    if (member >= union_members_[union_type].size()) right.refuse("is not the place of a member of the union");
    const auto some = std::ranges::find(union_types_, union_type) - union_types_.begin();
    const auto header_type = code_->headers[code_->unions[static_cast<size_t>(some)].headers[member]].type;
    if (left.is_constant())
      return instance(Type::kHeader, code_->unions[left.number.words[0]].headers[member],
                      static_cast<int32_t>(header_type));
    Term out = made(Op::kUnionHeader, Type::kHeader, 33, false, {std::move(left)});
    out.step.a = static_cast<uint32_t>(member);
    out.of_type = static_cast<int32_t>(header_type);
    return out;
  }
  if (left.type != Type::kHeader) at["left"].refuse("must be a header");
  const FieldType& type = field_at(static_cast<uint32_t>(left.of_type), right);
  if (type.is_varbit) {
    left.type = Type::kVarbit;
    return left;
  }
  if (left.is_constant()) {
    const auto header = static_cast<uint32_t>(left.number.words[0]);
    return field_term({header, code_->headers[header].word + type.word, type.word, type.width, type.is_signed, false});
  }
  Term out = made(Op::kAccessField, Type::kData, type.is_signed ? type.width : type.width + 1, !type.is_signed,
                  {std::move(left)});
  out.step.is_signed = type.is_signed;
  out.step.width = static_cast<uint16_t>(type.width);
  out.step.b = type.word;
  return out;
}

Term Loader::stack_term(const Term& stack, Op of_headers, Op of_unions, const JsonAt& at) const {
  if (stack.type != Type::kStack && stack.type != Type::kUnionStack) at["right"].refuse("must be a stack");
  Term out = made(stack.type == Type::kStack ? of_headers : of_unions, Type::kData, 34, false, {});
  out.step.a = static_cast<uint32_t>(stack.number.words[0]);
  return out;
}

Term Loader::operation(const JsonAt& at, const Scope& scope) {
  const std::string op = at["op"].text();
  if (op == "dereference_header_stack") return element_of(at, scope, Type::kStack);
  if (op == "dereference_union_stack") return element_of(at, scope, Type::kUnionStack);
  if (op == "access_field" || op == "access_union_header") return member_of(at, scope);

  Term right = term(at["right"], scope);
  if (op == "last_stack_index") return stack_term(right, Op::kStackLast, Op::kUnionStackLastIndex, at);
  if (op == "size_stack") return stack_term(right, Op::kStackSize, Op::kUnionStackSize, at);
  if (op == "valid") {
    if (right.type != Type::kHeader) at["right"].refuse("must be a header");
    if (!right.is_constant()) return made(Op::kHeaderValid, Type::kBool, 2, true, {std::move(right)});
    const Header& header = code_->headers[right.number.words[0]];
    Term out = field_term({0, header.word, 0, 1, false, false});
    out.type = Type::kBool;
    return out;
  }
  if (op == "valid_union") {
    if (right.type != Type::kUnion) at["right"].refuse("must be a header union");
    return made(Op::kUnionValid, Type::kBool, 2, true, {std::move(right)});
  }

  const auto number = [](const Term& each) { return each.type == Type::kData || each.type == Type::kBool; };
  const auto is_number = [&](const Term& each, const char* side) {
    if (!number(each)) at[side].refuse("must be a number");
  };
  if (op == "not" || op == "~" || op == "d2b" || op == "b2d") {
    is_number(right, "right");
    if (op == "not") return made(Op::kNot, Type::kBool, 2, true, {std::move(right)});
    if (op == "d2b") return made(Op::kToBool, Type::kBool, 2, true, {std::move(right)});
    if (op == "b2d") {
      right.type = Type::kData;
      return right;
    }
    const uint32_t bits = right.bits;
    return made(Op::kBitNot, Type::kData, bits, false, {std::move(right)});
  }

  Term left = term(at["left"], scope);
  if (op == "==" || op == "!=") {
    Term equal;
    if (left.type == right.type && !number(left) && left.type != Type::kStack && left.type != Type::kUnionStack) {
      const Op equal_op = left.type == Type::kHeader  ? Op::kHeaderEqual
                          : left.type == Type::kUnion ? Op::kUnionEqual
                                                      : Op::kVarbitEqual;
      equal = made(equal_op, Type::kBool, 2, true, {std::move(left), std::move(right)});
      return op == "==" ? equal : made(Op::kNot, Type::kBool, 2, true, {std::move(equal)});
    }
    if (!number(left) || !number(right)) at.refuse("must be of two numbers, headers, header unions or varbit fields");
    return made(op == "==" ? Op::kEq : Op::kNe, Type::kBool, 2, true, {std::move(left), std::move(right)});
  }
  if (op == "?") {
    Term condition = term(at["cond"], scope);
    is_number(condition, "cond");
    if (left.of_type != right.of_type || (left.type != right.type && !(number(left) && number(right))))
      at["right"].refuse("must be of the same type as left");
    if (left.type == Type::kStack || left.type == Type::kUnionStack) at["left"].unsupported("a choice of stacks");
    const uint32_t bits = std::max(left.bits, right.bits);
    const bool never_negative = left.never_negative && right.never_negative;
    const Type type = left.type;
    const int32_t of_type = left.of_type;
    Term out =
        made(Op::kTernary, type, bits, never_negative, {std::move(condition), std::move(left), std::move(right)});
    out.of_type = of_type;
    return out;
  }
  is_number(left, "left");
  is_number(right, "right");
  if (op == "two_comp_mod" || op == "sat_cast" || op == "usat_cast") {
    if (!right.is_constant() || right.number.negative || right.number.words[0] == 0 || right.number.bits() > 32 ||
        right.number.words[0] > kMaxFieldBits)
      at["right"].refuse("must be a constant width of 1 to " + std::to_string(kMaxFieldBits) + " bits");
    const auto width = static_cast<uint32_t>(right.number.words[0]);
    const Op made_op = op == "two_comp_mod" ? Op::kTwoComp : op == "sat_cast" ? Op::kSaturate : Op::kUnsignedSaturate;
    Term out = made(made_op, Type::kData, op == "usat_cast" ? width + 1 : width, op == "usat_cast", {std::move(left)});
    out.step.a = width;
    return out;
  }

  struct Binary {
    const char* name;
    Op op;
    uint32_t bits;
    bool never_negative;
    Type type;
  };
  const uint32_t most = std::max(left.bits, right.bits);
  const bool both = left.never_negative && right.never_negative;
  const uint32_t of_and = both                   ? std::min(left.bits, right.bits)
                          : left.never_negative  ? left.bits
                          : right.never_negative ? right.bits
                                                 : most;
  const Binary all[] = {
      {"+", Op::kAdd, most + 1, both, Type::kData},
      {"-", Op::kSub, most + 1, false, Type::kData},
      {"*", Op::kMul, left.bits + right.bits, both, Type::kData},
      {"/", Op::kDiv, left.bits + 1, both, Type::kData},
      {"%", Op::kMod, most, left.never_negative, Type::kData},
      {"<<", Op::kShl, op == "<<" ? shifted_bits(left, right) : 0, left.never_negative, Type::kData},
      {">>", Op::kShr, left.bits, left.never_negative, Type::kData},
      {"&", Op::kBitAnd, of_and, left.never_negative || right.never_negative, Type::kData},
      {"|", Op::kBitOr, most, both, Type::kData},
      {"^", Op::kBitXor, most, both, Type::kData},
      {"<", Op::kLt, 2, true, Type::kBool},
      {"<=", Op::kLe, 2, true, Type::kBool},
      {">", Op::kGt, 2, true, Type::kBool},
      {">=", Op::kGe, 2, true, Type::kBool},
      {"and", Op::kAnd, 2, true, Type::kBool},
      {"or", Op::kOr, 2, true, Type::kBool},
  };
  for (const Binary& each : all)
    if (op == each.name)
      return made(each.op, each.type, each.bits, each.never_negative, {std::move(left), std::move(right)});
  at["op"].unsupported("operator " + in_quotes(op));
}

}  // namespace orrery::p4
