// SPDX-License-Identifier: Apache-2.0
// An expression of the JSON, checked, before it becomes steps.
#pragma once

#include <vector>

#include "p4/program/code.h"
#include "p4/program/json_at.h"

namespace orrery::p4 {

struct Term {
  enum class Type : uint8_t { kData, kBool, kHeader, kUnion, kStack, kUnionStack, kVarbit };

  Type type = Type::kData;
  Step step{};
  // A varbit field is a number too: its header's.
  // Of the value as a two's complement number, with its sign.
  uint32_t bits = 0;
  bool never_negative = false;
  int32_t of_type = kNone;  // header or union type of a header or union or of what a stack has
  std::vector<Term> args;
  HexNumber number;  // kConst

  bool is_constant() const { return step.op == Op::kConst; }
};

}  // namespace orrery::p4
