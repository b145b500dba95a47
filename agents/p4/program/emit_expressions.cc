// SPDX-License-Identifier: Apache-2.0
// Which numbers an expression needs: where only the low bits of its value count, only those of sums, products and the
// like do, so that most run on 64 bits.
#include <algorithm>

#include "p4/program/loader.h"

namespace orrery::p4 {

uint32_t Loader::add_constant(const HexNumber& number) {
  const auto index = static_cast<uint32_t>(code_->constants.size());
  Words words = number.words;
  words.resize(number.bits() / 64 + 1);
  if (number.negative) {
    bool carry = true;
    for (uint64_t& word : words) {
      word = ~word + (carry ? 1 : 0);
      carry = carry && word == 0;
    }
  }
  code_->constants.insert(code_->constants.end(), words.begin(), words.end());
  return index;
}

Operand Loader::constant_operand(uint64_t value) {
  const HexNumber number{false, {value}};
  return {Operand::Kind::kConst, static_cast<uint16_t>(number.bits() / 64 + 1), add_constant(number)};
}

uint32_t Loader::emit(const Term& term, uint32_t demand, uint32_t depth, const JsonAt& at) {
  if (depth >= kMaxDepth) at.unsupported("an expression nested so deeply");
  const auto of_low_bits = [&](uint32_t bits) { return demand == 0 ? bits : std::min(demand, bits); };
  uint32_t need = of_low_bits(term.bits);
  Step step = term.step;
  std::vector<uint32_t> demands(term.args.size(), 0);
  switch (step.op) {
    case Op::kConst:
      step.a = add_constant(term.number);
      step.b = term.number.bits() / 64 + 1;
      break;
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kBitNot:
      demands.assign(demands.size(), demand);
      break;
    case Op::kBitAnd:
      demands.assign(demands.size(), demand);
      for (size_t i = 0; i < 2; ++i)
        if (const Term& mask = term.args[i]; mask.is_constant() && !mask.number.negative)
          demands[1 - i] = std::max(1u, of_low_bits(mask.number.bits()));
      break;
    case Op::kShl:
      demands[0] = demand;
      break;
    case Op::kShr:
      if (const Term& by = term.args[1];
          demand != 0 && by.is_constant() && !by.number.negative && by.number.bits() < 16)
        demands[0] = demand + static_cast<uint32_t>(by.number.words[0]);
      break;
    case Op::kTwoComp:
      demands[0] = step.a;
      break;
    case Op::kTernary:
      demands[1] = demands[2] = demand;
      break;
    default:
      break;
  }
  for (size_t i = 0; i < term.args.size(); ++i)
    need = std::max(need, emit(term.args[i], demands[i], depth + static_cast<uint32_t>(i), at));
  code_->steps.push_back(step);
  return need;
}

uint32_t Loader::expression(const Term& term, uint32_t demand, const JsonAt& at) {
  const auto first = static_cast<uint32_t>(code_->steps.size());
  const uint32_t bits = emit(term, demand, 0, at);
  if (bits > kMaxNumberBits) at.unsupported("a number of more than " + std::to_string(kMaxNumberBits) + " bits");
  const Numbers numbers = bits <= 64 ? Numbers::kWord : bits <= 128 ? Numbers::kDouble : Numbers::kWide;
  code_->expressions.push_back({first, static_cast<uint32_t>(code_->steps.size()) - first, numbers});
  return static_cast<uint32_t>(code_->expressions.size() - 1);
}

Operand Loader::operand_of(const Term& term, uint32_t demand, const JsonAt& at) {
  const Step& step = term.step;
  if (term.is_constant())
    return {Operand::Kind::kConst, static_cast<uint16_t>(term.number.bits() / 64 + 1), add_constant(term.number)};
  if (step.op == Op::kField || (step.op == Op::kSignedField && demand != 0 && demand <= step.width))
    return {Operand::Kind::kField, step.width, step.a};
  if (step.op == Op::kArg) return {Operand::Kind::kArg, step.width, step.a};
  return {Operand::Kind::kExpression, static_cast<uint16_t>(demand), expression(term, demand, at)};
}

Operand Loader::operand(const JsonAt& at, const Scope& scope, uint32_t demand, Term::Type type) {
  const Term value = term(at, scope);
  const bool is_number = value.type == Term::Type::kData || value.type == Term::Type::kBool;
  const bool wants_number = type == Term::Type::kData || type == Term::Type::kBool;
  if (is_number != wants_number || (!is_number && value.type != type)) at.refuse("is of the wrong kind");
  return operand_of(value, demand, at);
}

Operand Loader::header_operand(const JsonAt& at, const Scope& scope, Term::Type type) {
  return operand(at, scope, 0, type);
}

Target Loader::target(const JsonAt& at, const Scope& scope) {
  const Term to = term(at, scope);
  if (to.step.op != Op::kField && to.step.op != Op::kSignedField && to.step.op != Op::kAccessField)
    at.refuse("must be a field that can be written");
  if (to.step.op == Op::kAccessField)
    return {to.step.b, to.step.width, static_cast<int32_t>(expression(to.args[0], 0, at))};
  for (const Header& header : code_->headers)
    if (header.word == to.step.a) at.refuse("must be a field that can be written");
  return {to.step.a, to.step.width, kNone};
}

}  // namespace orrery::p4
