// SPDX-License-Identifier: Apache-2.0
#include "p4/core/evaluate.h"

#include <algorithm>

#include "p4/core/headers.h"
#include "p4/core/wide.h"
#include "p4/core/wire.h"

namespace orrery::p4 {

namespace {

// Numbers that steps work on.
template <class T>
class Evaluation {
 public:
  explicit Evaluation(Reader& reader) : reader_(reader) {}

  T run(const Expression& expression) {
    const Step* step = reader_.code.steps.data() + expression.first;
    for (uint32_t left = expression.count; left > 0; --left, ++step) take(*step);
    return stack_[0];
  }

 private:
  using A = Arithmetic<T>;

  T& top() { return stack_[size_ - 1]; }
  T& below() { return stack_[size_ - 2]; }
  void push(const T& value) { stack_[size_++] = value; }
  T pop() { return stack_[--size_]; }
  void set_bool(bool value) { top() = A::from(value ? 1 : 0); }

  void take(const Step& step) {
    const Code& code = reader_.code;
    Frame& frame = *reader_.frame;
    switch (step.op) {
      case Op::kConst:
        return push(A::load_constant(&code.constants[step.a], step.b));
      case Op::kField:
        return push(A::load(&frame.words[step.a], step.width, false));
      case Op::kSignedField:
        return push(A::load(&frame.words[step.a], step.width, true));
      case Op::kArg:
        return push(A::load(reader_.args + step.a, step.width, false));
      case Op::kRegister:
        return load_register(step);
      case Op::kLookahead:
        return load_lookahead(step);
      case Op::kAccessField: {
        const int64_t header = A::low(top());
        if (header < 0) {
          reader_.no_element = true;
          top() = A::from(0);
          return;
        }
        const uint32_t at = code.headers[static_cast<size_t>(header)].word + step.b;
        top() = A::load(&frame.words[at], step.width, step.is_signed);
        return;
      }
      case Op::kStackElement:
        top() = A::from(element(code.stacks[step.a]));
        return;
      case Op::kUnionStackElement:
        top() = A::from(element(code.union_stacks[step.a]));
        return;
      case Op::kUnionHeader:
        if (const int64_t index = A::low(top()); index >= 0)
          top() = A::from(code.unions[static_cast<size_t>(index)].headers[step.a]);
        return;
      case Op::kUnionStackLast: {
        const Stack& stack = code.union_stacks[step.a];
        const uint64_t filled = frame.words[stack.next_word];
        return push(A::from(filled == 0 ? -1 : int64_t{code.unions[stack.elements[filled - 1]].headers[step.b]}));
      }
      case Op::kStackLast:
        return push(A::from(static_cast<int64_t>(frame.words[code.stacks[step.a].next_word]) - 1));
      case Op::kUnionStackLastIndex:
        return push(A::from(static_cast<int64_t>(frame.words[code.union_stacks[step.a].next_word]) - 1));
      case Op::kStackSize:
        return push(A::from(static_cast<int64_t>(frame.words[code.stacks[step.a].next_word])));
      case Op::kUnionStackSize:
        return push(A::from(static_cast<int64_t>(frame.words[code.union_stacks[step.a].next_word])));
      case Op::kHeaderValid:
        return set_bool(is_valid(code, frame, A::low(top())));
      case Op::kUnionValid:
        return set_bool(valid_member(code, frame, A::low(top())) >= 0);
      default:
        return combine(step);
    }
  }

  void combine(const Step& step) {
    switch (step.op) {
      case Op::kNot:
        return set_bool(A::is_zero(top()));
      case Op::kToBool:
        return set_bool(!A::is_zero(top()));
      case Op::kBitNot:
        top() = A::sub(A::from(-1), top());
        return;
      case Op::kTwoComp:
        top() = A::extend(top(), step.a);
        return;
      case Op::kSaturate:
        return saturate(A::sub(A::from(-1), A::most(step.a - 1)), A::most(step.a - 1));
      case Op::kUnsignedSaturate:
        return saturate(A::from(0), A::most(step.a));
      case Op::kTernary: {
        const T no = pop();
        const T yes = pop();
        top() = A::is_zero(top()) ? no : yes;
        return;
      }
      default:
        break;
    }
    const T right = pop();
    T& left = top();
    switch (step.op) {
      case Op::kAdd:
        left = A::add(left, right);
        return;
      case Op::kSub:
        left = A::sub(left, right);
        return;
      case Op::kMul:
        left = A::mul(left, right);
        return;
      case Op::kDiv:
        left = A::div(left, right);
        return;
      case Op::kMod:
        left = A::mod(left, right);
        return;
      case Op::kShl:
        left = A::shifts_all_out(right) ? A::from(0) : A::shl(left, static_cast<uint32_t>(A::low(right)));
        return;
      case Op::kShr:
        left = A::shifts_all_out(right) ? A::from(A::negative(left) ? -1 : 0)
                                        : A::shr(left, static_cast<uint32_t>(A::low(right)));
        return;
      case Op::kBitAnd:
        left = left & right;
        return;
      case Op::kBitOr:
        left = left | right;
        return;
      case Op::kBitXor:
        left = left ^ right;
        return;
      case Op::kEq:
        return set_bool(left == right);
      case Op::kNe:
        return set_bool(!(left == right));
      case Op::kLt:
        return set_bool(left < right);
      case Op::kLe:
        return set_bool(!(right < left));
      case Op::kGt:
        return set_bool(right < left);
      case Op::kGe:
        return set_bool(!(left < right));
      case Op::kAnd:
        return set_bool(!A::is_zero(left) && !A::is_zero(right));
      case Op::kOr:
        return set_bool(!A::is_zero(left) || !A::is_zero(right));
      case Op::kHeaderEqual:
        return set_bool(equal_headers(reader_.code, *reader_.frame, A::low(left), A::low(right)));
      case Op::kUnionEqual:
        return set_bool(equal_unions(reader_.code, *reader_.frame, A::low(left), A::low(right)));
      case Op::kVarbitEqual:
        return set_bool(equal_varbits(reader_.code, *reader_.frame, A::low(left), A::low(right)));
      default:
        return;
    }
  }

  void saturate(const T& least, const T& most) {
    if (top() < least) top() = least;
    if (most < top()) top() = most;
  }

  int64_t element(const Stack& stack) {
    const T index = top();
    if (A::negative(index) || !(index < A::from(static_cast<int64_t>(stack.elements.size())))) return -1;
    return stack.elements[static_cast<size_t>(A::low(index))];
  }

  void load_register(const Step& step) {
    const RegisterArray& array = reader_.registers[step.a];
    const T index = top();
    const bool there = !A::negative(index) && index < A::from(static_cast<int64_t>(array.size()));
    top() = there ? A::load(array.at(static_cast<uint64_t>(A::low(index))), step.width, false) : A::from(0);
  }

  void load_lookahead(const Step& step) {
    const Frame& frame = *reader_.frame;
    uint64_t words[words_of(kMaxFieldBits)] = {};
    const uint64_t end = uint64_t{step.a} + step.width;
    if ((end + 7) / 8 > frame.size - frame.cursor) {
      reader_.too_short = true;
    } else {
      read_bits(frame.bytes + frame.cursor, step.a, step.width, words);
    }
    push(A::load(words, step.width, false));
  }

  Reader& reader_;
  T stack_[kMaxDepth + 1];
  uint32_t size_ = 0;
};

template <class T>
T evaluate(Reader& reader, const Expression& expression) {
  return Evaluation<T>(reader).run(expression);
}

}  // namespace

uint64_t Reader::expression_word(const Expression& expression) {
  switch (expression.numbers) {
    case Numbers::kWord:
      return static_cast<uint64_t>(evaluate<int64_t>(*this, expression));
    case Numbers::kDouble:
      return static_cast<uint64_t>(evaluate<Int128>(*this, expression));
    case Numbers::kWide:
      break;
  }
  return evaluate<Wide>(*this, expression).words[0];
}

void Reader::words(const Operand& operand, uint64_t* out, uint32_t count) {
  const auto copy = [&](const uint64_t* from, uint32_t there, uint64_t behind) {
    for (uint32_t i = 0; i < count; ++i) out[i] = i < there ? from[i] : behind;
  };
  switch (operand.kind) {
    case Operand::Kind::kConst: {
      const uint64_t* from = &code.constants[operand.index];
      return copy(from, operand.width, static_cast<int64_t>(from[operand.width - 1]) < 0 ? ~uint64_t{0} : 0);
    }
    case Operand::Kind::kField:
      return copy(&frame->words[operand.index], words_of(operand.width), 0);
    case Operand::Kind::kArg:
      return copy(args + operand.index, words_of(operand.width), 0);
    case Operand::Kind::kNothing:
      return copy(nullptr, 0, 0);
    case Operand::Kind::kExpression:
      break;
  }
  const Expression& expression = code.expressions[operand.index];
  switch (expression.numbers) {
    case Numbers::kWord:
      return Arithmetic<int64_t>::store(evaluate<int64_t>(*this, expression), out, count);
    case Numbers::kDouble:
      return Arithmetic<Int128>::store(evaluate<Int128>(*this, expression), out, count);
    case Numbers::kWide:
      return Arithmetic<Wide>::store(evaluate<Wide>(*this, expression), out, count);
  }
}

bool Reader::truth(const Operand& operand) {
  if (operand.kind == Operand::Kind::kExpression) {
    const Expression& expression = code.expressions[operand.index];
    switch (expression.numbers) {
      case Numbers::kWord:
        return evaluate<int64_t>(*this, expression) != 0;
      case Numbers::kDouble:
        return evaluate<Int128>(*this, expression) != 0;
      case Numbers::kWide:
        return !evaluate<Wide>(*this, expression).is_zero();
    }
  }
  const bool one_word = operand.width <= (operand.kind == Operand::Kind::kConst ? 1 : 64);
  if (one_word) return word(operand) != 0;
  uint64_t all[kWideWords];
  words(operand, all, kWideWords);
  return std::ranges::any_of(all, [](uint64_t each) { return each != 0; });
}

bool Reader::beyond(const Operand& operand, uint64_t& out) {
  uint64_t all[kWideWords];
  words(operand, all, kWideWords);
  out = all[0];
  for (uint32_t i = 1; i < kWideWords; ++i)
    if (all[i] != 0) return true;
  return all[0] >> 63 != 0;
}

int64_t instance_of(Reader& reader, const Operand& operand) {
  return static_cast<int64_t>(reader.word(operand));
}

}  // namespace orrery::p4
