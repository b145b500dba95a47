// SPDX-License-Identifier: Apache-2.0
#include "p4/core/trace_writer.h"

#include <algorithm>

#include "p4/core/headers.h"

namespace orrery::p4 {

namespace {

const char* kind_of(InstanceType type) {
  switch (type) {
    case InstanceType::kNormal:
      return "normal";
    case InstanceType::kIngressClone:
      return "ingress_clone";
    case InstanceType::kEgressClone:
      return "egress_clone";
    case InstanceType::kRecirculate:
      return "recirculate";
    case InstanceType::kReplication:
      return "replication";
    case InstanceType::kResubmit:
      return "resubmit";
  }
  return "";
}

}  // namespace

void TraceWriter::add(TraceStep step) {
  if (trace_->steps.size() < PacketTrace::kMaxSteps) {
    trace_->steps.push_back(std::move(step));
  } else {
    trace_->left_out += 1;
  }
}

void TraceWriter::begin(const Frame& frame, uint32_t port) {
  add(step::Begin{kind_of(frame.type), port, frame.rid, frame.size});
}

void TraceWriter::extracted(uint32_t header) {
  extracted_.push_back(code_.headers[header].name);
}

void TraceWriter::state(const ParserStateCode& state, int32_t next) {
  add(step::ParserState{code_.parser_name, state.name, std::move(extracted_),
                        next == kNone ? "accept" : code_.states[static_cast<size_t>(next)].name});
  extracted_.clear();
}

void TraceWriter::parser_failed(const ParserStateCode& state, uint32_t error) {
  const auto name = std::ranges::find(code_.errors.names, error, &std::pair<uint32_t, std::string>::first);
  add(step::ParserFailed{state.name, name == code_.errors.names.end() ? std::to_string(error) : name->second});
}

void TraceWriter::checksum_verified(const std::string& name, bool right) {
  add(step::ChecksumVerified{name, right});
}

void TraceWriter::checksum_updated(const std::string& name, uint64_t value) {
  add(step::ChecksumUpdated{name, to_hex(&value, 64)});
}

void TraceWriter::pipeline(const std::string& name) {
  add(step::Pipeline{name});
}

void TraceWriter::lookup(const Frame& frame, uint32_t table, uint32_t entry) {
  NamedValues key;
  for (size_t i = 0; i < program_.tables[table].key.size(); ++i) {
    const TableKeyPart& part = code_.tables[table].key[i];
    key.emplace_back(program_.tables[table].key[i].name, to_hex(&frame.words[part.from], part.width));
  }
  const bool hit = entry != kNoEntry;
  add(step::TableLookup{program_.tables[table].name, std::move(key), hit, hit ? entry : 0});
}

void TraceWriter::action(uint32_t action, const uint64_t* args) {
  const ActionInfo& info = program_.actions[action];
  NamedValues values;
  for (size_t i = 0; i < info.params.size(); ++i)
    values.emplace_back(info.params[i].name, to_hex(args + code_.actions[action].arg_words[i], info.params[i].width));
  add(step::ActionRun{info.name, std::move(values)});
}

void TraceWriter::condition(const ConditionCode& condition, bool taken) {
  add(step::Condition{condition.name, condition.source, taken});
}

void TraceWriter::counted(uint32_t counter, uint64_t index) {
  add(step::Counted{program_.counters[counter].name, index});
}

void TraceWriter::metered(uint32_t meter, uint64_t index, Colour colour) {
  add(step::Metered{program_.meters[meter].name, index, static_cast<uint8_t>(colour)});
}

void TraceWriter::touched_register(uint32_t array, uint64_t index, bool write, const uint64_t* words) {
  const RegisterInfo& info = program_.registers[array];
  add(step::Register{info.name, index, write, to_hex(words, info.width)});
}

// Braces take the values one by one, in decimal where they fit 64 bits.
void TraceWriter::logged(const LogMessage& message, Reader& reader) {
  std::string text;
  size_t next = 0;
  for (size_t i = 0; i < message.format.size(); ++i) {
    if (message.format.compare(i, 2, "{}") != 0 || next >= message.values.size()) {
      text.push_back(message.format[i]);
      continue;
    }
    const Operand& operand = message.values[next++];
    uint64_t value = 0;
    if (reader.beyond(operand, value)) {
      uint64_t words[words_of(kMaxFieldBits)];
      reader.words(operand, words, words_of(kMaxFieldBits));
      text += to_hex(words, operand.kind == Operand::Kind::kConst ? 64 : std::max<uint32_t>(operand.width, 64));
    } else {
      text += std::to_string(value);
    }
    ++i;
  }
  add(step::Logged{std::move(text)});
}

void TraceWriter::copied(const char* kind, uint64_t id, uint32_t copies) {
  add(step::Copied{kind, id, copies});
}

void TraceWriter::dropped(std::string_view reason) {
  add(step::Dropped{std::string(reason)});
}

void TraceWriter::deparsed(const Frame& frame, uint32_t header_bytes) {
  std::vector<std::string> headers;
  for (const uint32_t header : code_.deparse)
    if (is_valid(code_, frame, header)) headers.push_back(code_.headers[header].name);
  add(step::Deparsed{std::move(headers), header_bytes, frame.size - frame.cursor});
}

void TraceWriter::sent(uint32_t port, uint32_t bytes) {
  add(step::Sent{port, bytes});
}

}  // namespace orrery::p4
