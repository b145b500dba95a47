// SPDX-License-Identifier: Apache-2.0
// Expressions and operands.
#pragma once

#include <cstdint>
#include <vector>

#include "p4/core/arrays.h"
#include "p4/core/frame.h"
#include "p4/program/code.h"

namespace orrery::p4 {

// What values are read from. A parser's lookahead beyond the packet, or the last element of an empty stack, gives zero
// and is noted.
struct Reader {
  const Code& code;
  const std::vector<RegisterArray>& registers;
  Frame* frame = nullptr;
  const uint64_t* args = nullptr;
  bool too_short = false;
  bool no_element = false;

  // The lowest 64 bits of the value in two's complement.
  uint64_t word(const Operand& operand) {
    switch (operand.kind) {
      case Operand::Kind::kConst:
        return code.constants[operand.index];
      case Operand::Kind::kField:
        return frame->words[operand.index];
      case Operand::Kind::kArg:
        return args[operand.index];
      case Operand::Kind::kExpression:
        return expression_word(code.expressions[operand.index]);
      case Operand::Kind::kNothing:
        break;
    }
    return 0;
  }
  bool truth(const Operand& operand);
  // So many words of the value.
  void words(const Operand& operand, uint64_t* out, uint32_t count);
  // Whether the value is below zero or of more than 63 bits; otherwise it is in `out`.
  bool beyond(const Operand& operand, uint64_t& out);

  uint64_t expression_word(const Expression& expression);
};

// Index of the header or union that a header operand names, or below zero.
int64_t instance_of(Reader& reader, const Operand& operand);

}  // namespace orrery::p4
