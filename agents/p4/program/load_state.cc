// SPDX-License-Identifier: Apache-2.0
// Counters, meters, registers, calculations and learn lists.
#include "p4/program/loader.h"

namespace orrery::p4 {

namespace {

constexpr uint64_t kMaxArrayWords = 1 << 25;  // of all arrays of a program, of 64 bits
constexpr uint32_t kCounterWords = 2;
constexpr uint32_t kMeterWords = 16;

}  // namespace

uint64_t Loader::array_size(const JsonAt& at, uint32_t words_of_a_cell) {
  const uint64_t size = at.number(1, UINT64_MAX);
  if (size > (kMaxArrayWords - array_words_) / words_of_a_cell)
    at.unsupported("a program with arrays of more than " + std::to_string(kMaxArrayWords * 8 >> 20) + " MiB");
  array_words_ += size * words_of_a_cell;
  return size;
}

void Loader::load_arrays() {
  for (const JsonAt& at : json_.items("counter_arrays")) {
    CounterInfo info{.name = at["name"].text(), .direct = at["is_direct"].boolean(), .size = 0, .table = {}};
    if (info.direct) {
      info.table = at["binding"].text();
    } else {
      info.size = array_size(at["size"], kCounterWords);
    }
    counter_names_.emplace(info.name, program_->counters.size());
    program_->counters.push_back(std::move(info));
  }
  for (const JsonAt& at : json_.items("meter_arrays")) {
    MeterInfo info{.name = at["name"].text(),
                   .direct = at["is_direct"].boolean(),
                   .size = 0,
                   .bytes = at["type"].text() == "bytes",
                   .table = {}};
    if (!info.bytes && at["type"].text() != "packets") at["type"].refuse("must be bytes or packets");
    if (at.has("rate_count") && at["rate_count"].number(0, 255) != 2)
      at["rate_count"].unsupported("a meter with other than two rates");
    if (info.direct) {
      info.table = at["binding"].text();
      direct_meter_targets_.emplace(program_->meters.size(), field(at["result_target"]));
    } else {
      info.size = array_size(at["size"], kMeterWords);
    }
    meter_names_.emplace(info.name, program_->meters.size());
    program_->meters.push_back(std::move(info));
  }
  for (const JsonAt& at : json_.items("register_arrays")) {
    RegisterInfo info{.name = at["name"].text(), .size = 0, .width = 0};
    info.width = static_cast<uint32_t>(at["bitwidth"].number(1, kMaxFieldBits));
    info.size = array_size(at["size"], words_of(info.width));
    register_names_.emplace(info.name, program_->registers.size());
    program_->registers.push_back(std::move(info));
  }
}

HashKind Loader::hash_kind(const JsonAt& at) const {
  static const std::map<std::string, HashKind, std::less<>> kKinds{{"crc16", HashKind::kCrc16},
                                                                   {"crc32", HashKind::kCrc32},
                                                                   {"csum16", HashKind::kCsum16},
                                                                   {"cksum16", HashKind::kCsum16},
                                                                   {"xor16", HashKind::kXor16},
                                                                   {"identity", HashKind::kIdentity},
                                                                   {"crc16_custom", HashKind::kCrc16Custom},
                                                                   {"crc32_custom", HashKind::kCrc32Custom},
                                                                   {"crcCCITT", HashKind::kCrcCcitt}};
  const auto it = kKinds.find(at.text());
  if (it == kKinds.end()) at.unsupported("hash " + in_quotes(at.text()));
  return it->second;
}

std::vector<CalculationInput> Loader::calculation_inputs(const std::vector<JsonAt>& inputs, bool& with_payload,
                                                         uint32_t& max_bytes) {
  using Kind = CalculationInput::Kind;
  std::vector<CalculationInput> all;
  uint64_t bits = 0;
  for (const JsonAt& at : inputs) {
    const std::string type = at["type"].text();
    if (type == "payload") {
      with_payload = true;
    } else if (type == "hexstr") {
      const auto width = static_cast<uint32_t>(at["bitwidth"].number(1, kMaxFieldBits));
      const HexNumber number = at["value"].hex();
      if (number.bits() > width) at["value"].refuse("must be a number of at most " + std::to_string(width) + " bits");
      const auto word = add_constant(number);
      code_->constants.resize(std::max<size_t>(code_->constants.size(), word + words_of(width)));
      all.push_back({Kind::kConst, 0, word, width});
      bits += width;
    } else if (type == "header") {
      const uint32_t header = lookup(header_names_, at["value"], "header");
      const HeaderType& header_type = code_->header_types[code_->headers[header].type];
      all.push_back({Kind::kHeader, header, 0, 0});
      bits += header_type.fixed_bits;
      if (header_type.varbit != kNone) bits += header_type.fields[static_cast<size_t>(header_type.varbit)].width;
    } else if (type == "field") {
      const FieldRef ref = field(at["value"]);
      const HeaderType& header_type = code_->header_types[code_->headers[ref.header].type];
      all.push_back({ref.is_varbit ? Kind::kVarbit : Kind::kField, ref.header, ref.word, ref.width});
      bits += ref.is_varbit ? header_type.fields[static_cast<size_t>(header_type.varbit)].width : ref.width;
    } else {
      at["type"].unsupported(in_quotes(type) + " as the input of a hash or checksum");
    }
  }
  if (bits > uint64_t{1} << 20) inputs[0].unsupported("a hash over so many bytes");
  max_bytes = static_cast<uint32_t>((bits + 7) / 8);
  return all;
}

void Loader::load_calculations() {
  for (const JsonAt& at : json_.items("calculations")) {
    Calculation each{.name = at["name"].text(), .hash = hash_kind(at["algo"]), .inputs = {}};
    each.inputs = calculation_inputs(at["input"].items(), each.with_payload, each.max_bytes);
    calculation_names_.emplace(each.name, code_->calculations.size());
    code_->calculations.push_back(std::move(each));
  }
}

void Loader::load_learn_lists() {
  for (const JsonAt& at : json_.items("learn_lists")) {
    LearnListInfo info{
        .name = at["name"].text(), .id = static_cast<uint32_t>(at["id"].number(0, UINT32_MAX)), .widths = {}};
    std::vector<Operand> values;
    for (const JsonAt& element : at["elements"].items()) {
      const std::string type = element["type"].text();
      if (type == "field") {
        const FieldRef ref = field(element["value"]);
        if (ref.is_varbit) element.unsupported("a varbit field in a digest");
        values.push_back({Operand::Kind::kField, static_cast<uint16_t>(ref.width), ref.word});
        info.widths.push_back(ref.width);
      } else if (type == "hexstr") {
        const HexNumber number = element["value"].hex();
        const auto width = element.has("bitwidth") ? static_cast<uint32_t>(element["bitwidth"].number(1, kMaxFieldBits))
                                                   : std::max(number.bits(), 1u);
        const auto word = add_constant(number);
        code_->constants.resize(std::max<size_t>(code_->constants.size(), word + words_of(width)));
        values.push_back({Operand::Kind::kConst, 1, word});
        info.widths.push_back(width);
      } else {
        element["type"].unsupported(in_quotes(type) + " in a digest");
      }
    }
    learn_list_ids_.emplace(info.id, program_->learn_lists.size());
    program_->learn_lists.push_back(std::move(info));
    code_->learn_lists.push_back(std::move(values));
  }
}

}  // namespace orrery::p4
