// SPDX-License-Identifier: Apache-2.0
#include "p4/core/headers.h"
#include "p4/core/machine.h"
#include "p4/core/wire.h"

namespace orrery::p4 {

namespace {

// A parser that goes round without end stops with ParserTimeout.
constexpr uint32_t kMaxStates = 1024;

uint64_t load_bytes(const uint8_t* at, uint32_t count, const uint8_t* end) {
  if (end - at >= 8) return load_be64(at) >> (64 - count * 8);
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; ++i) value = value << 8 | at[i];
  return value;
}

void load_header(const Code& code, Frame& frame, uint32_t index, uint32_t varbit_bits) {
  const Header& header = code.headers[index];
  const HeaderType& type = code.header_types[header.type];
  uint64_t* words = frame.words.data() + header.word;
  const uint8_t* bytes = frame.bytes + frame.cursor;
  const uint8_t* end = frame.bytes + frame.size;
  uint64_t place = 0;
  for (const WireGroup& group : type.wire) {
    switch (group.kind) {
      case WireGroup::Kind::kWord: {
        const uint64_t value = load_bytes(bytes + place / 8, group.bytes, end);
        const WireField* field = type.wire_fields.data() + group.first;
        for (uint32_t i = 0; i < group.count; ++i, ++field) words[field->word] = value >> field->shift & field->mask;
        place += group.bits;
        break;
      }
      case WireGroup::Kind::kBits:
        read_bits(bytes, place, group.bits, words + group.first);
        place += group.bits;
        break;
      case WireGroup::Kind::kVarbit:
        words[group.first] = varbit_bits;
        for (uint32_t i = 0; i < varbit_bits / 8; ++i)
          frame.varbits[header.varbit + i] = static_cast<uint8_t>(read_bits64(bytes, place + uint64_t{i} * 8, 8));
        place += varbit_bits;
        break;
    }
  }
}

}  // namespace

void Machine::parse(Frame& frame) {
  const ParserErrors& errors = code_.errors;
  uint32_t error = errors.none;
  reader_.frame = &frame;
  reader_.args = nullptr;
  int32_t at = code_.first_state;
  for (uint32_t states = 0; at != kNone; ++states) {
    const ParserStateCode& state = code_.states[static_cast<size_t>(at)];
    reader_.too_short = reader_.no_element = false;
    error = states < kMaxStates ? run_state(frame, state) : errors.timeout;
    if (error == errors.none) {
      at = next_state(frame, state);
      if (reader_.too_short) error = errors.too_short;
      if (reader_.no_element) error = errors.stack_bounds;
    }
    if (trace_) trace_.state(state, error != errors.none ? kNone : at);
    if (error == errors.none) continue;
    if (trace_) trace_.parser_failed(state, error);
    break;
  }
  const bool right = verify_checksums(frame);
  set(frame, code_.standard.parser_error, error);
  set(frame, code_.standard.checksum_error, right ? 0 : 1);
}

uint32_t Machine::run_state(Frame& frame, const ParserStateCode& state) {
  for (const ParserOp& op : state.ops) {
    const uint32_t error = run_parser_op(frame, op);
    if (error != code_.errors.none) return error;
    if (reader_.too_short) return code_.errors.too_short;
    if (reader_.no_element) return code_.errors.stack_bounds;
  }
  return code_.errors.none;
}

uint32_t Machine::run_parser_op(Frame& frame, const ParserOp& op) {
  const ParserErrors& errors = code_.errors;
  switch (op.kind) {
    case ParserOp::Kind::kExtract:
      return extract(frame, op.index, op);
    case ParserOp::Kind::kExtractStack:
    case ParserOp::Kind::kExtractUnionStack: {
      const bool of_unions = op.kind == ParserOp::Kind::kExtractUnionStack;
      const Stack& stack = (of_unions ? code_.union_stacks : code_.stacks)[op.index];
      const uint64_t next = frame.words[stack.next_word];
      if (next >= stack.elements.size()) return errors.stack_bounds;
      const uint32_t element = stack.elements[next];
      const uint32_t error = extract(frame, of_unions ? code_.unions[element].headers[op.member] : element, op);
      if (error == errors.none) frame.words[stack.next_word] = next + 1;
      return error;
    }
    case ParserOp::Kind::kPrimitive:
      run_instruction(frame, code_.instructions[op.index], 0);
      return errors.none;
    case ParserOp::Kind::kVerify:
      return reader_.truth(op.a) ? errors.none : static_cast<uint32_t>(reader_.word(op.b));
    case ParserOp::Kind::kAdvance:
    case ParserOp::Kind::kShift: {
      uint64_t by = 0;
      const bool beyond = reader_.beyond(op.a, by);
      if (op.kind == ParserOp::Kind::kAdvance) {
        if (by % 8 != 0) return errors.argument;
        by /= 8;
      }
      if (beyond || by > frame.size - frame.cursor) return errors.too_short;
      frame.cursor += static_cast<uint32_t>(by);
      return errors.none;
    }
  }
  return errors.none;
}

uint32_t Machine::extract(Frame& frame, uint32_t header, const ParserOp& op) {
  const HeaderType& type = code_.header_types[code_.headers[header].type];
  uint64_t varbit_bits = 0;
  if (type.varbit != kNone) {
    const bool beyond = reader_.beyond(op.a, varbit_bits);
    if (varbit_bits % 8 != 0) return code_.errors.argument;
    if (beyond) return code_.errors.too_short;
  }
  const uint64_t bytes = type.fixed_bytes() + varbit_bits / 8;
  if (bytes > frame.size - frame.cursor) return code_.errors.too_short;
  if (type.varbit != kNone && varbit_bits > type.fields[static_cast<size_t>(type.varbit)].width)
    return code_.errors.header_too_short;
  set_valid(code_, frame, header);
  load_header(code_, frame, header, static_cast<uint32_t>(varbit_bits));
  frame.cursor += static_cast<uint32_t>(bytes);
  if (trace_) trace_.extracted(header);
  return code_.errors.none;
}

bool Machine::in_value_set(const ParserStateCode& state, const Transition& transition) const {
  const ValueSet& set = value_sets[transition.value_set];
  std::array<uint64_t, size_t{words_of(kMaxSelectBits)} * 2> words{};
  uint64_t* key = words.data();
  uint64_t* mask = key + words_of(kMaxSelectBits);
  uint32_t place = 0;
  const auto put = [&](uint64_t* to, uint64_t value) {
    to[place / 64] |= value << (place % 64);
    if (place % 64 != 0 && place / 64 + 1 < words_of(set.width_bits()))
      to[place / 64 + 1] |= value >> (64 - place % 64);
  };
  for (size_t i = state.key.size(); i > 0; --i) {
    const KeyPart& part = state.key[i - 1];
    for (uint32_t word = 0; word < words_of(part.width); ++word) {
      put(key, key_[part.word + word]);
      put(mask, code_.match_words[transition.words + part.word + word]);
      place += std::min(64u, part.width - word * 64);
    }
  }
  return set.has(key, mask);
}

int32_t Machine::next_state(Frame& frame, const ParserStateCode& state) {
  for (const KeyPart& part : state.key) {
    if (part.kind == KeyPart::Kind::kField) {
      for (uint32_t i = 0; i < words_of(part.width); ++i) key_[part.word + i] = frame.words[part.index + i];
      continue;
    }
    const Operand operand{Operand::Kind::kExpression, part.width, part.index};
    reader_.words(operand, &key_[part.word], words_of(part.width));
    key_[part.word + words_of(part.width) - 1] &= low_mask((part.width - 1u) % 64 + 1);
  }
  for (const Transition& transition : state.transitions) {
    if (transition.kind == Transition::Kind::kValueSet) {
      if (in_value_set(state, transition)) return transition.next;
      continue;
    }
    const uint64_t* value = code_.match_words.data() + transition.words;
    const uint64_t* mask = value + state.key_words;
    bool same = true;
    for (uint32_t i = 0; i < state.key_words; ++i) same = same && ((key_[i] ^ value[i]) & mask[i]) == 0;
    if (same) return transition.next;
  }
  return state.default_next;
}

}  // namespace orrery::p4
