// SPDX-License-Identifier: Apache-2.0
// programs/parsing.p4: what comes out begins with error code, `seen` and `noted`.
#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

class P4Parser : public ::testing::Test {
 protected:
  Switch switch_{read_program("parsing")};
};

TEST_F(P4Parser, FillsStacksUntilTheyAreFull) {
  EXPECT_EQ(switch_.one("01 02 04 07 99"),
            "000000000000"
            "01"
            "020407"
            "99");
  EXPECT_EQ(switch_.one("01 03 99"),
            "000000000000"
            "01"
            "03"
            "99");
  EXPECT_EQ(switch_.one("01 02 04 06 08 99"),
            "030000000000"
            "01"
            "020406"
            "0899")
      << "a fourth label";
  EXPECT_EQ(switch_.one("01 02"),
            "010000000000"
            "01"
            "02")
      << "too short";
}

TEST_F(P4Parser, ExtractsVarbitFields) {
  EXPECT_EQ(switch_.one("02 a3 112233 ee 44"),
            "000000000000"
            "02"
            "a3112233ee"
            "44");
  EXPECT_EQ(switch_.one("02 a0 ee"),
            "000000000000"
            "02"
            "a0ee");
  EXPECT_EQ(switch_.one("02 a3 1122"),
            "010000000000"
            "02"
            "a31122")
      << "too short";
  EXPECT_EQ(switch_.one("02 af 112233445566778899aabbccddeeff00"),
            "040000000000"
            "02"
            "af112233445566778899aabbccddeeff00")
      << "longer than the field";
}

TEST_F(P4Parser, LooksAheadWithoutMoving) {
  EXPECT_EQ(switch_.one("03 abcd ef"),
            "0003000abcde"
            "03"
            "abcdef");
  EXPECT_EQ(switch_.one("03 1234 56"),
            "000000012345"
            "03"
            "123456");
  EXPECT_EQ(switch_.one("03 1234"),
            "010000000000"
            "03"
            "1234");
}

TEST_F(P4Parser, AdvancesOverBytesThatAreThenLost) {
  EXPECT_EQ(switch_.one("04 112233 77 88"),
            "007700000000"
            "04"
            "7788");
  EXPECT_EQ(switch_.one("04 1122"),
            "010000000000"
            "04"
            "1122");
}

TEST_F(P4Parser, StopsWithTheErrorOfAVerify) {
  EXPECT_EQ(switch_.one("05 4d"),
            "000500000000"
            "05"
            "4d");
  EXPECT_EQ(switch_.one("05 4e"),
            "050000000000"
            "05"
            "4e");
}

TEST_F(P4Parser, GivesUpWhereNothingMatches) {
  EXPECT_EQ(switch_.one("06 01 99").substr(12),
            "06"
            "01"
            "99");
  EXPECT_EQ(switch_.one("").size(), 0u);
}

TEST_F(P4Parser, KeepsOneHeaderOfAUnion) {
  EXPECT_EQ(switch_.one("06 01 99"),
            "000000000000"
            "06"
            "01"
            "99");
  EXPECT_EQ(switch_.one("06 02aabb 99"),
            "000000000000"
            "06"
            "99"
            "99")
      << "ingress makes the other one valid";
  EXPECT_EQ(switch_.one("07 00 00 05"),
            "000000000000"
            "07"
            "00"
            "00"
            "05")
      << "a stack of unions";
  EXPECT_EQ(switch_.one("07 00 00 00"),
            "030000000000"
            "07"
            "00"
            "00"
            "00")
      << "a third one";
}

TEST_F(P4Parser, SelectsByMaskRangeAndValueSet) {
  EXPECT_EQ(switch_.one("4f"),
            "004000000000"
            "4f");
  EXPECT_EQ(switch_.one("57"),
            "005000000000"
            "57");
  EXPECT_EQ(switch_.one("58"),
            "000000000000"
            "58");
  const std::vector<ValueSetMember> members{{to_bytes(0x58)}, {to_bytes(0x60), to_bytes(0xfe)}};
  switch_.pipeline.control().value_set(0).set(members);
  EXPECT_EQ(switch_.one("58"),
            "00ee00000000"
            "58");
  EXPECT_EQ(switch_.one("61"),
            "00ee00000000"
            "61");
  EXPECT_EQ(switch_.one("62"),
            "000000000000"
            "62");
  EXPECT_EQ(switch_.pipeline.control().value_set(0).members(), members);
  EXPECT_EQ(refusal([&] { switch_.pipeline.control().value_set(0).set({{to_bytes(0x100)}}); }), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] { switch_.pipeline.control().value_set(1); }), Refusal::kNotFound);
}

TEST_F(P4Parser, ReadsTheLastUnionOfAStack) {
  auto program = read_program("parsing");
  for (auto& state : program["parsers"][0]["parse_states"])
    if (state["name"] == "choices")
      state["transition_key"] =
          nlohmann::json::parse(R"([{"type": "union_stack_field", "value": ["choices", "short", "value"]}])");
  Switch with(program);
  EXPECT_EQ(with.one("07 00 01 05"),
            "000000000000"
            "07"
            "00"
            "01"
            "05");
  EXPECT_EQ(with.one("07 01 00 05"),
            "000000000000"
            "07"
            "01"
            "00"
            "05");
}

TEST_F(P4Parser, ShiftsByBytes) {
  auto program = program_of({});
  program["parsers"][0]["parse_states"][0]["parser_ops"].insert(
      program["parsers"][0]["parse_states"][0]["parser_ops"].begin(),
      nlohmann::json::parse(R"({"op": "shift", "parameters": [2]})"));
  Switch with(program);
  const std::string header = header_of({.a = 7});
  EXPECT_EQ(with.one("1234" + header + "56"), header + "56");
}

TEST_F(P4Parser, DoesNotGoRoundForEver) {
  auto program = program_of({primitive("assign", {field("c"), field("parser_error", "standard_metadata")})});
  program["errors"] = nlohmann::json::parse(R"([["NoError", 0], ["PacketTooShort", 1], ["ParserTimeout", 9]])");
  program["parsers"][0]["parse_states"][0]["parser_ops"] = nlohmann::json::array();
  program["parsers"][0]["parse_states"][0]["transitions"] =
      nlohmann::json::parse(R"([{"type": "default", "value": null, "next_state": "start"}])");
  program["actions"][0]["primitives"].push_back(
      primitive("add_header", {nlohmann::json::parse(R"({"type": "header", "value": "h"})")}));
  program["actions"][0]["primitives"].push_back(
      primitive("assign", {field("c"), field("parser_error", "standard_metadata")}));
  Switch with(program);
  EXPECT_EQ(with.one("00").substr(6, 8), "00000009");
}

}  // namespace
}  // namespace orrery::p4::testing
