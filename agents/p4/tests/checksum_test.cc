// SPDX-License-Identifier: Apache-2.0
// Checksums, varbit fields and standard metadata, in programs of a few primitives.
#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

using nlohmann::json;

json input(const char* header, const char* name) {
  return {{"type", "field"}, {"value", {header, name}}};
}

// A checksum over the inputs, in the field `b` of `h`.
json with_checksum(json program, const std::vector<json>& inputs, const json& condition, bool verify) {
  program["calculations"] = json::array({{{"name", "sum"}, {"id", 0}, {"algo", "csum16"}, {"input", inputs}}});
  program["checksums"] = json::array({{{"name", "check"},
                                       {"id", 0},
                                       {"target", {"h", "b"}},
                                       {"type", "generic"},
                                       {"calculation", "sum"},
                                       {"verify", verify},
                                       {"update", !verify},
                                       {"if_cond", condition}}});
  return program;
}

TEST(P4Checksums, AreUpdatedOverFieldsConstantsAndPayload) {
  const json constant = {{"type", "hexstr"}, {"value", "0x01"}, {"bitwidth", 8}};
  const json payload = {{"type", "payload"}, {"value", nullptr}};
  const std::vector<json> inputs{input("h", "a"), constant, input("h", "c"), input("g", "b"), payload};
  const std::string in = header_of({.a = 0x12, .b = 0x9999, .c = 0x00010002});
  Switch always(with_checksum(program_of({}), inputs, nullptr, false));
  // 1201 + 0001 + 0002, then 3300 of the payload, which is padded.
  EXPECT_EQ(always.one(in), header_of({.a = 0x12, .b = 0xedfb, .c = 0x00010002}));
  EXPECT_EQ(always.one(in + "33"), header_of({.a = 0x12, .b = 0xbafb, .c = 0x00010002}) + "33");
  EXPECT_EQ(always.one(in + "3344" + "55"), header_of({.a = 0x12, .b = 0x65b7, .c = 0x00010002}) + "334455");
  Switch sometimes(with_checksum(program_of({}), inputs, operation("==", field("c"), number("0x5")), false));
  EXPECT_EQ(sometimes.one(in), in);
}

TEST(P4Checksums, TakeAHeaderWhereItIsValid) {
  const json header = {{"type", "header"}, {"value", "g"}};
  json program = with_checksum(program_of({}), {header}, nullptr, false);
  EXPECT_EQ(Switch(program).one(header_of({.a = 1})), header_of({.a = 1, .b = 0xffff}));
  const std::string second = header_of({.a = 0x01, .b = 0x0203});
  // 0102 + 0300
  EXPECT_EQ(Switch(program).one(header_of({.a = 0xff}) + second), header_of({.a = 0xff, .b = 0xfbfd}) + second);
}

TEST(P4Checksums, AreVerifiedBeforeIngress) {
  json program = program_of({primitive("assign", {field("d"), field("checksum_error", "standard_metadata")})});
  program["header_types"][0]["fields"].push_back({"checksum_error", 1, false});
  Switch with(with_checksum(program, {input("h", "c")}, nullptr, true));
  EXPECT_EQ(with.one(header_of({.b = 0xfffc, .c = 0x00010002, .d = 9})), header_of({.b = 0xfffc, .c = 0x00010002}));
  EXPECT_EQ(with.one(header_of({.b = 0xfffd, .c = 0x00010002})), header_of({.b = 0xfffd, .c = 0x00010002, .d = 1}));
}

// Two headers of a length byte and up to four bytes, behind `h`.
json varbit_program(const std::vector<json>& primitives) {
  json program = program_of(primitives);
  program["header_types"].push_back(json::parse(
      R"({"name": "v_t", "id": 5, "fields": [["n", 8, false], ["data", "*"], ["end", 8, false]], "max_length": 6})"));
  for (const char* name : {"x", "y"}) {
    program["headers"].push_back({{"name", name}, {"id", 50 + name[0]}, {"header_type", "v_t"}, {"metadata", false}});
    program["deparsers"][0]["order"].push_back(name);
    json& start = program["parsers"][0]["parse_states"][0];
    const json bits = operation("*", json::parse(R"({"type": "lookahead", "value": [0, 8]})"), number("0x8"));
    start["parser_ops"].push_back(
        {{"op", "extract_VL"}, {"parameters", {json{{"type", "regular"}, {"value", name}}, bits}}});
  }
  return program;
}

TEST(P4Varbits, AreExtractedCopiedComparedAndHashed) {
  const std::string h = header_of({});
  const std::string x = "02aabbee";
  const std::string y = "03112233ff";
  const json from = {{"type", "field"}, {"value", {"y", "data"}}};
  const json to = {{"type", "field"}, {"value", {"x", "data"}}};
  EXPECT_EQ(Switch(varbit_program({})).one(h + x + y + "77"), h + x + y + "77");
  EXPECT_EQ(Switch(varbit_program({primitive("assign_VL", {to, from})})).one(h + x + y), h + "02112233ee" + y);
  const json header_y = {{"type", "header"}, {"value", "y"}};
  const json header_x = {{"type", "header"}, {"value", "x"}};
  EXPECT_EQ(Switch(varbit_program({primitive("assign_header", {header_x, header_y})})).one(h + x + y), h + y + y);
  const json same = primitive("assign", {field("b"), operation("b2d", nullptr, operation("==", to, from))});
  EXPECT_EQ(Switch(varbit_program({same})).one(h + x + y).substr(2, 4), "0000");
  EXPECT_EQ(Switch(varbit_program({same})).one(h + x + "02aabb00").substr(2, 4), "0001");
  EXPECT_EQ(Switch(varbit_program({same})).one(h + x + "02aabc00").substr(2, 4), "0000");
  json program = with_checksum(varbit_program({}), {input("x", "data"), input("y", "data")}, nullptr, false);
  // aabb + 1122 + 3300
  EXPECT_EQ(Switch(program).one(h + x + y).substr(2, 4), "1122");
}

TEST(P4Varbits, AreRefusedWhereTheyCannotBe) {
  const json data = {{"type", "field"}, {"value", {"x", "data"}}};
  for (const json& each : {primitive("assign", {field("b"), data}), primitive("assign", {data, field("b")}),
                           primitive("assign", {field("b"), operation("+", data, number("0x1"))}),
                           primitive("assign_VL", {field("b"), data})})
    EXPECT_THROW(load_program(varbit_program({each})), ProgramError) << each;
}

TEST(P4Metadata, IsThatOfSimpleSwitch) {
  const auto standard = [](const char* name) { return field(name, "standard_metadata"); };
  json program = program_of({primitive("assign", {field("b"), standard("ingress_port")}),
                             primitive("assign", {field("c"), standard("packet_length")}),
                             primitive("assign", {field("d"), standard("ingress_global_timestamp")})});
  program["header_types"][0]["fields"].push_back({"ingress_global_timestamp", 48, false});
  program["field_aliases"] = json::parse(
      R"([["intrinsic_metadata.ingress_global_timestamp", ["standard_metadata", "ingress_global_timestamp"]]])");
  Switch with(program, {.start_ns = 5'000});
  with.now_ns = 12'345'678;
  EXPECT_EQ(with.one(header_of({}) + "00", 300), header_of({.b = 300, .c = 55, .d = 12'340}) + "00");
}

}  // namespace
}  // namespace orrery::p4::testing
