// SPDX-License-Identifier: Apache-2.0
// Ingress and egress: tables and conditions.
#include "p4/core/machine.h"

namespace orrery::p4 {

void Machine::run_pipeline(Frame& frame, const PipelineCode& pipeline) {
  if (trace_) trace_.pipeline(pipeline.name);
  reader_.frame = &frame;
  for (int32_t at = pipeline.first; at != kNone && !frame.exit;) {
    const Node& node = pipeline.nodes[static_cast<size_t>(at)];
    switch (node.kind) {
      case Node::Kind::kTable:
        at = apply_table(frame, node.index);
        break;
      case Node::Kind::kCondition: {
        const ConditionCode& condition = code_.conditions[node.index];
        const bool taken = reader_.truth(condition.expression);
        if (trace_) trace_.condition(condition, taken);
        at = taken ? condition.true_next : condition.false_next;
        break;
      }
      case Node::Kind::kAction:
        run_action(frame, node.index, nullptr);
        at = node.next;
        break;
    }
  }
}

int32_t Machine::next_after(uint32_t table, bool hit, int32_t of_action) const {
  const TableCode& code = code_.tables[table];
  return code.by_hit ? (hit ? code.next_hit : code.next_miss) : of_action;
}

int32_t Machine::apply_table(Frame& frame, uint32_t index) {
  const TableCode& code = code_.tables[index];
  Table& table = *tables[index];
  uint32_t entry = kNoEntry;
  if (code.key_words != 0 && table.size() != 0) {
    std::fill_n(key_.begin(), code.key_words, 0);
    for (const TableKeyPart& part : code.key) {
      const uint32_t words = words_of(part.width);
      for (uint32_t i = 0; i < words; ++i) {
        uint64_t value = frame.words[part.from + i];
        if (!part.mask.empty()) value &= part.mask[i];
        key_[part.to + i] |= value << part.shift;
      }
    }
    entry = table.lookup(key_.data(), frame.words.data());
  }
  table.count_lookup(entry != kNoEntry);
  if (trace_) trace_.lookup(frame, index, entry);
  if (entry == kNoEntry) return run_choice(frame, index, table.default_choice(), table.default_args(), false);

  Table::Entry& hit = table.at(entry);
  const TableInfo& info = program->tables[index];
  if (info.direct_counter) {
    hit.counter.packets += 1;
    hit.counter.bytes += frame.ingress_length;
    if (trace_) trace_.counted(*info.direct_counter, entry);
  }
  if (info.has_idle_timeout) hit.last_hit_ns = now_ns_;
  if (info.direct_meter) {
    const bool bytes = program->meters[*info.direct_meter].bytes;
    const Colour colour = table.meter_at(entry).mark(bytes ? frame.ingress_length : 1, now_ns_);
    frame.words[static_cast<size_t>(code.meter_target)] = static_cast<uint64_t>(colour) & low_mask(code.meter_width);
    if (trace_) trace_.metered(*info.direct_meter, entry, colour);
  }
  return run_choice(frame, index, hit.choice, table.args(entry), true);
}

int32_t Machine::run_choice(Frame& frame, uint32_t index, const Table::Choice& choice, const uint64_t* args, bool hit) {
  const Table& table = *tables[index];
  uint32_t slot = choice.action;
  switch (choice.kind) {
    case Table::Choice::Kind::kNone:
      return next_after(index, hit, code_.tables[index].next_none);
    case Table::Choice::Kind::kCall:
      run_action(frame, choice.action, args);
      return next_after(index, hit, choice.next);
    case Table::Choice::Kind::kGroup: {
      const uint32_t profile = *program->tables[index].action_profile;
      const std::vector<uint32_t>& choices = profiles[profile]->group_at(choice.action).choices;
      if (choices.empty()) {
        const Table::Choice& other = table.default_choice();
        if (other.kind == Table::Choice::Kind::kGroup) return next_after(index, false, code_.tables[index].next_none);
        return run_choice(frame, index, other, table.default_args(), false);
      }
      slot = choices[select(frame, profile) % choices.size()];
      break;
    }
    case Table::Choice::Kind::kMember:
      break;
  }
  const ActionProfile::Member& member = profiles[*program->tables[index].action_profile]->member_at(slot);
  run_action(frame, member.action, member.args.data());
  return next_after(index, hit, table.next_of(member.action));
}

}  // namespace orrery::p4
