// SPDX-License-Identifier: Apache-2.0
#include "p4/core/headers.h"
#include "p4/core/machine.h"

namespace orrery::p4 {

void Machine::run_action(Frame& frame, uint32_t action, const uint64_t* args) {
  const ActionCode& code = code_.actions[action];
  reader_.frame = &frame;
  reader_.args = args;
  if (trace_) trace_.action(action, args);
  const Instruction* first = code_.instructions.data() + code.first;
  for (uint32_t place = 0; place < code.count && !frame.exit;) place = run_instruction(frame, first[place], place);
}

uint64_t* Machine::target_words(const Target& target) {
  if (target.header == kNone) return &reader_.frame->words[target.word];
  const auto header =
      static_cast<int64_t>(reader_.expression_word(code_.expressions[static_cast<size_t>(target.header)]));
  if (header < 0) return nullptr;
  return &reader_.frame->words[code_.headers[static_cast<size_t>(header)].word + target.word];
}

void Machine::set_target(const Target& target, uint64_t value) {
  uint64_t* words = target_words(target);
  if (words != nullptr) *words = value & low_mask(target.width);
}

uint32_t Machine::run_instruction(Frame& frame, const Instruction& instruction, uint32_t place) {
  switch (instruction.op) {
    case Prim::kAssign:
      if (instruction.target.header == kNone) {
        frame.words[instruction.target.word] = reader_.word(instruction.a) & low_mask(instruction.target.width);
      } else {
        set_target(instruction.target, reader_.word(instruction.a));
      }
      break;
    case Prim::kAssignWide: {
      uint64_t value[words_of(kMaxFieldBits)];
      const uint32_t count = words_of(instruction.target.width);
      reader_.words(instruction.a, value, count);
      value[count - 1] &= low_mask((instruction.target.width - 1u) % 64 + 1);
      if (uint64_t* words = target_words(instruction.target); words != nullptr) std::copy_n(value, count, words);
      break;
    }
    case Prim::kMarkToDrop:
      set_target(instruction.target, options.drop_port);
      if (instruction.index != 0) frame.words[instruction.index] = 0;
      break;
    case Prim::kExit:
      frame.exit = true;
      break;
    case Prim::kJump:
      return instruction.index;
    case Prim::kJumpIfZero:
      if (!reader_.truth(instruction.a)) return instruction.index;
      break;
    case Prim::kCloneIngress:
    case Prim::kCloneEgress:
      frame.clone = true;
      frame.clone_session = static_cast<uint32_t>(reader_.word(instruction.a)) & (kMaxSessions - 1);
      frame.clone_list = instruction.index;
      break;
    case Prim::kResubmit:
      frame.resubmit = true;
      frame.again_list = instruction.index;
      break;
    case Prim::kRecirculate:
      frame.recirculate = true;
      frame.again_list = instruction.index;
      break;
    case Prim::kDigest:
      frame.digest = instruction.index;
      break;
    case Prim::kTruncate:
      frame.truncate = std::min(frame.truncate, static_cast<uint32_t>(reader_.word(instruction.a)));
      if (trace_) trace_.copied("truncate", frame.truncate, 0);
      break;
    case Prim::kAssert:
    case Prim::kAssume:
      if (!reader_.truth(instruction.a)) frame.failed = true;
      break;
    case Prim::kLog:
      if (trace_) trace_.logged(code_.log_messages[instruction.index], reader_);
      break;
    case Prim::kHash:
    case Prim::kRandom:
    case Prim::kCount:
    case Prim::kMeter:
    case Prim::kRegisterRead:
    case Prim::kRegisterWrite:
      run_state_instruction(frame, instruction);
      break;
    default:
      run_header_instruction(frame, instruction);
      break;
  }
  return place + 1;
}

void Machine::run_header_instruction(Frame& frame, const Instruction& instruction) {
  const auto a = [&] { return instance_of(reader_, instruction.a); };
  const auto b = [&] { return instance_of(reader_, instruction.b); };
  const Code& code = code_;
  switch (instruction.op) {
    case Prim::kAssignHeader:
      return copy_header(code, frame, a(), b());
    case Prim::kAssignUnion:
      return copy_union(code, frame, a(), b());
    case Prim::kAssignStack:
      return copy_stack(code, frame, code.stacks[static_cast<size_t>(a())], code.stacks[static_cast<size_t>(b())],
                        false);
    case Prim::kAssignUnionStack:
      return copy_stack(code, frame, code.union_stacks[static_cast<size_t>(a())],
                        code.union_stacks[static_cast<size_t>(b())], true);
    case Prim::kAssignVarbit:
      return copy_varbit(code, frame, static_cast<uint32_t>(a()), static_cast<uint32_t>(b()));
    case Prim::kAddHeader: {
      const int64_t header = a();
      if (header < 0 || is_valid(code, frame, header)) return;
      clear_fields(code, frame, static_cast<uint32_t>(header));
      set_valid(code, frame, static_cast<uint32_t>(header));
      frame.length += byte_length(code, frame, static_cast<uint32_t>(header));
      return;
    }
    case Prim::kRemoveHeader: {
      const int64_t header = a();
      if (!is_valid(code, frame, header)) return;
      frame.length -= byte_length(code, frame, static_cast<uint32_t>(header));
      return set_invalid(code, frame, static_cast<uint32_t>(header));
    }
    case Prim::kPush:
      return push_front(code, frame, code.stacks[instruction.index], reader_.word(instruction.a), false);
    case Prim::kPop:
      return pop_front(code, frame, code.stacks[instruction.index], reader_.word(instruction.a), false);
    case Prim::kPushUnions:
      return push_front(code, frame, code.union_stacks[instruction.index], reader_.word(instruction.a), true);
    case Prim::kPopUnions:
      return pop_front(code, frame, code.union_stacks[instruction.index], reader_.word(instruction.a), true);
    default:
      return;
  }
}

// An index beyond an array: nothing is counted, marked, read or written, as in simple_switch.
void Machine::run_state_instruction(Frame& frame, const Instruction& instruction) {
  const uint32_t index = instruction.index;
  switch (instruction.op) {
    case Prim::kHash: {
      const uint64_t base = reader_.word(instruction.a);
      const uint64_t size = reader_.word(instruction.b);
      const uint64_t hash = calculate(frame, index);
      return set_target(instruction.target, size == 0 ? base : base + hash % size);
    }
    case Prim::kRandom: {
      const uint64_t low = reader_.word(instruction.a);
      const uint64_t high = reader_.word(instruction.b);
      if (low > high) return;
      const uint64_t span = high - low + 1;
      return set_target(instruction.target, span == 0 ? random() : low + random() % span);
    }
    case Prim::kCount: {
      const uint64_t cell = reader_.word(instruction.a);
      if (counters[index].count(cell, frame.ingress_length) && trace_) trace_.counted(index, cell);
      return;
    }
    case Prim::kMeter: {
      const uint64_t cell = reader_.word(instruction.a);
      if (cell >= meters[index].size()) return;
      const Colour colour = meters[index].mark(cell, frame.ingress_length, now_ns_);
      if (trace_) trace_.metered(index, cell, colour);
      return set_target(instruction.target, static_cast<uint64_t>(colour));
    }
    case Prim::kRegisterRead: {
      const uint64_t cell = reader_.word(instruction.a);
      const RegisterArray& array = registers[index];
      if (cell >= array.size()) return;
      if (trace_) trace_.touched_register(index, cell, false, array.at(cell));
      uint64_t* to = target_words(instruction.target);
      if (to == nullptr) return;
      const uint32_t count = words_of(instruction.target.width);
      const uint32_t there = words_of(array.width_bits());
      for (uint32_t i = 0; i < count; ++i) to[i] = i < there ? array.at(cell)[i] : 0;
      to[count - 1] &= low_mask((instruction.target.width - 1u) % 64 + 1);
      return;
    }
    case Prim::kRegisterWrite: {
      const uint64_t cell = reader_.word(instruction.a);
      RegisterArray& array = registers[index];
      if (cell >= array.size()) return;
      const uint32_t count = words_of(array.width_bits());
      if (count == 1) {
        *array.at(cell) = reader_.word(instruction.b) & low_mask(array.width_bits());
      } else {
        reader_.words(instruction.b, array.at(cell), count);
        array.at(cell)[count - 1] &= low_mask((array.width_bits() - 1) % 64 + 1);
      }
      if (trace_) trace_.touched_register(index, cell, true, array.at(cell));
      return;
    }
    default:
      return;
  }
}

}  // namespace orrery::p4
