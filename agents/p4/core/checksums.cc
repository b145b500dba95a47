// SPDX-License-Identifier: Apache-2.0
// Hashes, checksums and the deparser.
#include <algorithm>
#include <cstring>

#include "p4/core/headers.h"
#include "p4/core/machine.h"
#include "p4/core/wire.h"

namespace orrery::p4 {

namespace {

void store_bytes(uint8_t* at, uint32_t count, uint64_t value) {
  // Up to seven bytes behind them are overwritten: what comes there is stored later.
  store_be64(at, value << (64 - count * 8));
}

// The buffer has eight bytes more than the header.
uint32_t store_header(const Code& code, const Frame& frame, uint32_t index, uint8_t* out) {
  const Header& header = code.headers[index];
  const HeaderType& type = code.header_types[header.type];
  const uint64_t* words = frame.words.data() + header.word;
  uint64_t place = 0;
  for (const WireGroup& group : type.wire) {
    switch (group.kind) {
      case WireGroup::Kind::kWord: {
        uint64_t value = 0;
        const WireField* field = type.wire_fields.data() + group.first;
        for (uint32_t i = 0; i < group.count; ++i, ++field) value |= words[field->word] << field->shift;
        if (place % 8 == 0) {
          store_bytes(out + place / 8, group.bytes, value);
        } else {
          write_bits64(out, place, group.bits, value);
        }
        place += group.bits;
        break;
      }
      case WireGroup::Kind::kBits:
        write_bits(out, place, group.bits, words + group.first);
        place += group.bits;
        break;
      case WireGroup::Kind::kVarbit: {
        const auto bits = static_cast<uint32_t>(words[group.first]);
        for (uint32_t i = 0; i < bits / 8; ++i)
          write_bits64(out, place + uint64_t{i} * 8, 8, frame.varbits[header.varbit + i]);
        place += bits;
        break;
      }
    }
  }
  return static_cast<uint32_t>(place / 8);
}

}  // namespace

// Fields of headers that are not valid are left out.
std::span<const uint8_t> Machine::gather(Frame& frame, const std::vector<CalculationInput>& inputs, bool with_payload) {
  BitWriter writer(gathered_.data());
  for (const CalculationInput& input : inputs) {
    if (input.kind == CalculationInput::Kind::kConst) {
      writer.put(&code_.constants[input.word], input.width);
      continue;
    }
    if (!is_valid(code_, frame, input.header)) continue;
    switch (input.kind) {
      case CalculationInput::Kind::kField:
        writer.put(&frame.words[input.word], input.width);
        break;
      case CalculationInput::Kind::kVarbit:
        writer.put_bytes(frame.varbits.data() + code_.headers[input.header].varbit,
                         static_cast<uint32_t>(frame.words[input.word] / 8));
        break;
      default: {
        const uint32_t count = store_header(code_, frame, input.header, head_.data());
        writer.put_bytes(head_.data(), count);
      }
    }
  }
  uint32_t count = writer.finish();
  if (with_payload) {
    const uint32_t payload = std::min(frame.size - frame.cursor, frame.truncate);
    std::memcpy(gathered_.data() + count, frame.bytes + frame.cursor, payload);
    count += payload;
  }
  return {gathered_.data(), count};
}

uint64_t Machine::calculate(Frame& frame, uint32_t calculation) {
  const Calculation& each = code_.calculations[calculation];
  return hashes[calculation].of(gather(frame, each.inputs, each.with_payload));
}

uint64_t Machine::select(Frame& frame, uint32_t profile) {
  return selector_hashes[profile].of(gather(frame, code_.selectors[profile]->inputs, false));
}

bool Machine::verify_checksums(Frame& frame) {
  bool all_right = true;
  for (const ChecksumCode& each : code_.verified) {
    if (!is_valid(code_, frame, each.header)) continue;
    if (each.condition.kind != Operand::Kind::kNothing && !reader_.truth(each.condition)) continue;
    const uint64_t value = calculate(frame, each.calculation) & low_mask(each.width);
    const bool right = frame.words[each.word] == value;
    if (trace_) trace_.checksum_verified(each.name, right);
    all_right = all_right && right;
  }
  return all_right;
}

void Machine::update_checksums(Frame& frame) {
  reader_.frame = &frame;
  for (const ChecksumCode& each : code_.updated) {
    if (!is_valid(code_, frame, each.header)) continue;
    if (each.condition.kind != Operand::Kind::kNothing && !reader_.truth(each.condition)) continue;
    frame.words[each.word] = calculate(frame, each.calculation) & low_mask(each.width);
    if (trace_) trace_.checksum_updated(each.name, frame.words[each.word]);
  }
}

uint32_t Machine::deparse(Frame& frame) {
  uint32_t count = 0;
  for (const uint32_t header : code_.deparse)
    if (is_valid(code_, frame, header)) count += store_header(code_, frame, header, head_.data() + count);
  if (trace_) trace_.deparsed(frame, count);
  return count;
}

}  // namespace orrery::p4
