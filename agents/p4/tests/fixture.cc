// SPDX-License-Identifier: Apache-2.0
#include "p4/tests/fixture.h"

#include <fstream>

#include "p4/core/wire.h"

namespace orrery::p4::testing {

using nlohmann::json;

namespace {

constexpr uint32_t kHeaderBytes = 54;

json field_types() {
  return json::parse(R"([["a", 8, false], ["b", 16, false], ["c", 32, false], ["d", 64, false], ["w", 100, false],
    ["v", 200, false], ["s", 8, true], ["p", 4, false]])");
}

}  // namespace

std::string hex_of(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    text.push_back(kDigits[static_cast<uint8_t>(byte) & 15]);
  }
  return text;
}

ByteString bytes_of(std::string_view hex) {
  std::string digits;
  for (const char digit : hex)
    if (digit != ' ') digits.push_back(digit);
  ByteString bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

json read_program(const std::string& name) {
  return json::parse(std::ifstream(P4_PROGRAMS "/" + name + ".json"));
}

Switch::Switch(const json& program, const PipelineOptions& options) : pipeline(load_program(program), options) {}

bool Switch::send(const FrameOut& frame) {
  if (missing_port == frame.port) return false;
  std::string bytes(frame.head.begin(), frame.head.end());
  bytes.append(frame.payload.begin(), frame.payload.end());
  sent_.emplace_back(frame.port, hex_of(bytes));
  return true;
}

Sent Switch::run(std::string_view hex, uint32_t port) {
  // Of exactly its size, so that reading beyond it shows.
  const ByteString bytes = bytes_of(hex);
  const std::vector<uint8_t> frame(bytes.begin(), bytes.end());
  sent_.clear();
  trace = {};
  pipeline.batch().run({port, frame, now_ns}, *this, traced ? &trace : nullptr);
  return std::move(sent_);
}

std::string Switch::one(std::string_view hex, uint32_t port) {
  const Sent sent = run(hex, port);
  EXPECT_LE(sent.size(), 1u);
  return sent.empty() ? "" : sent[0].second;
}

uint32_t Switch::table(std::string_view name) const {
  return pipeline.program().find_table(name).value();
}

ActionCall Switch::call(std::string_view in_table, std::string_view action, const std::vector<uint64_t>& args) const {
  const Program& program = pipeline.program();
  ActionCall call{.action = program.tables[table(in_table)].action(program.actions, action).value()};
  for (const uint64_t arg : args) call.args.push_back(to_bytes(arg));
  return call;
}

EntryHandle Switch::insert(std::string_view in_table, const std::vector<KeyMatch>& key, const ActionCall& action,
                           int32_t priority, uint64_t idle_timeout_ns) {
  return pipeline.control()
      .table(table(in_table))
      .insert({.key = key, .priority = priority, .action = action, .idle_timeout_ns = idle_timeout_ns}, now_ns);
}

uint64_t Switch::drops(DropReason reason) {
  return pipeline.control().drops()[static_cast<size_t>(reason)];
}

KeyMatch exactly(uint64_t value) {
  return {.value = to_bytes(value)};
}
KeyMatch prefix(uint64_t value, uint32_t length) {
  return {.value = to_bytes(value), .prefix_length = length};
}
KeyMatch masked(uint64_t value, uint64_t mask) {
  return {.value = to_bytes(value), .mask = to_bytes(mask)};
}
KeyMatch between(uint64_t low, uint64_t high) {
  return {.value = to_bytes(low), .mask = to_bytes(high)};
}
KeyMatch anything() {
  return {.any = true};
}

json field(const std::string& name, const std::string& header) {
  return {{"type", "field"}, {"value", {header, name}}};
}
json number(const std::string& hex) {
  return {{"type", "hexstr"}, {"value", hex}};
}
json expression(const json& value) {
  return {{"type", "expression"}, {"value", value}};
}
json operation(const std::string& op, const json& left, const json& right) {
  return expression({{"op", op}, {"left", left}, {"right", right}});
}
json primitive(const std::string& op, const std::vector<json>& parameters) {
  return {{"op", op}, {"parameters", parameters}};
}

json program_of(const std::vector<json>& primitives) {
  json program = json::parse(R"({
    "__meta__": {"version": [2, 24]},
    "header_types": [
      {"name": "standard_metadata", "id": 0, "fields": [["ingress_port", 9, false], ["egress_spec", 9, false],
        ["egress_port", 9, false], ["instance_type", 32, false], ["packet_length", 32, false],
        ["mcast_grp", 16, false], ["parser_error", 32, false], ["_padding", 1, false]]},
      {"name": "h_t", "id": 1, "fields": []}
    ],
    "headers": [
      {"name": "standard_metadata", "id": 0, "header_type": "standard_metadata", "metadata": true},
      {"name": "h", "id": 1, "header_type": "h_t", "metadata": false},
      {"name": "g", "id": 2, "header_type": "h_t", "metadata": false}
    ],
    "errors": [["NoError", 0], ["PacketTooShort", 1]],
    "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [
      {"name": "start", "id": 0, "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
       "transition_key": [{"type": "field", "value": ["h", "a"]}],
       "transitions": [{"type": "hexstr", "value": "0xff", "mask": null, "next_state": "second"},
                       {"type": "default", "value": null, "mask": null, "next_state": null}]},
      {"name": "second", "id": 1, "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "g"}]}],
       "transition_key": [], "transitions": []}
    ]}],
    "deparsers": [{"name": "deparser", "id": 0, "order": ["h", "g"]}],
    "actions": [{"name": "act", "id": 0, "runtime_data": [], "primitives": []}],
    "pipelines": [
      {"name": "ingress", "id": 0, "init_table": "call", "tables": [], "conditionals": [],
       "action_calls": [{"name": "call", "id": 0, "action_id": 0, "next_node": null}]},
      {"name": "egress", "id": 1, "init_table": null, "tables": [], "conditionals": []}
    ]
  })");
  program["header_types"][1]["fields"] = field_types();
  json& all = program["actions"][0]["primitives"];
  all.push_back(primitive("assign", {field("egress_spec", "standard_metadata"), number("0x1")}));
  for (const json& each : primitives) all.push_back(each);
  return program;
}

std::string header_of(const Fields& fields) {
  std::vector<uint8_t> bytes(kHeaderBytes + 4);
  BitWriter writer(bytes.data());
  const auto put_hex = [&](const std::string& hex, uint32_t width) {
    std::vector<uint64_t> words(words_of(width));
    EXPECT_TRUE(to_words(bytes_of(hex), width, words.data())) << hex;
    writer.put(words.data(), width);
  };
  writer.put(fields.a, 8);
  writer.put(fields.b, 16);
  writer.put(fields.c, 32);
  writer.put(fields.d, 64);
  put_hex(fields.w, 100);
  put_hex(fields.v, 200);
  writer.put(fields.s, 8);
  writer.put(uint64_t{0}, 4);
  EXPECT_EQ(writer.finish(), kHeaderBytes);
  return hex_of({reinterpret_cast<const char*>(bytes.data()), kHeaderBytes});
}

}  // namespace orrery::p4::testing
