// SPDX-License-Identifier: Apache-2.0
// Primitives on headers and fields, in programs of a few of them.
#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

using nlohmann::json;

json header(const std::string& name) {
  return {{"type", "header"}, {"value", name}};
}

const Fields kFirst{.a = 0xff, .b = 1, .c = 2, .d = 3, .w = "0abc", .v = "0def", .s = 4};
const std::string kSecond = header_of({.a = 9, .b = 8});

// With a stack of four one-byte headers between `h` and the rest, all of them extracted but for the last.
json program_with_stack(const std::vector<json>& primitives, const std::string& kind = "header") {
  json program = program_of(primitives);
  program["header_types"].push_back({{"name", "one_t"}, {"id", 9}, {"fields", json::parse(R"([["x", 8, false]])")}});
  json ids = json::array();
  json order = {"h"};
  for (int i = 0; i < 4; ++i) {
    const std::string name = "s[" + std::to_string(i) + "]";
    program["headers"].push_back({{"name", name}, {"id", 20 + i}, {"header_type", "one_t"}, {"metadata", false}});
    ids.push_back(20 + i);
    order.push_back(name);
  }
  program["header_stacks"] = json::array({{{"name", "s"}, {"id", 0}, {"header_type", "one_t"}, {"header_ids", ids}}});
  if (kind == "union") {
    program["header_union_types"] = json::parse(R"([{"name": "u_t", "id": 0, "headers": [["one", "one_t"]]}])");
    program["header_unions"] = json::array();
    for (int i = 0; i < 4; ++i)
      program["header_unions"].push_back({{"name", "u[" + std::to_string(i) + "]"},
                                          {"id", i},
                                          {"union_type", "u_t"},
                                          {"header_ids", json::array({20 + i})}});
    program["header_union_stacks"] =
        json::parse(R"([{"name": "u", "id": 0, "union_type": "u_t", "header_union_ids": [0, 1, 2, 3]}])");
  }
  program["deparsers"][0]["order"] = order;
  json& start = program["parsers"][0]["parse_states"][0];
  start["transitions"] = json::array();
  start["transition_key"] = json::array();
  for (int i = 0; i < 3; ++i) {
    const json to = kind == "union" ? json{{"type", "union_stack"}, {"value", {"u", "one"}}}
                                    : json{{"type", "stack"}, {"value", "s"}};
    start["parser_ops"].push_back({{"op", "extract"}, {"parameters", json::array({to})}});
  }
  return program;
}

std::string stack_after(const std::vector<json>& primitives, const std::string& kind = "header") {
  Switch with(program_with_stack(primitives, kind));
  const std::string h = header_of({.a = 1});
  const std::string out = with.one(h + "112233" + "99");
  EXPECT_EQ(out.substr(0, h.size()), h);
  EXPECT_EQ(out.substr(out.size() - 2), "99");
  return out.substr(h.size(), out.size() - h.size() - 2);
}

TEST(P4Headers, AreAddedRemovedAndCopied) {
  const std::string first = header_of(kFirst);
  EXPECT_EQ(Switch(program_of({})).one(first + kSecond + "77"), first + kSecond + "77");
  EXPECT_EQ(Switch(program_of({primitive("remove_header", {header("g")})})).one(first + kSecond + "77"), first + "77");
  EXPECT_EQ(Switch(program_of({primitive("remove_header", {header("g")}), primitive("add_header", {header("g")})}))
                .one(first + kSecond),
            first + header_of({}))
      << "a header that is added is zero";
  EXPECT_EQ(Switch(program_of({primitive("add_header", {header("g")})})).one(first + kSecond), first + kSecond)
      << "one that is there stays";
  EXPECT_EQ(Switch(program_of({primitive("assign_header", {header("g"), header("h")})})).one(first + kSecond),
            first + first);
  EXPECT_EQ(Switch(program_of({primitive("remove_header", {header("h")}),
                               primitive("assign_header", {header("g"), header("h")})}))
                .one(first + kSecond + "77"),
            "77");
}

TEST(P4Headers, ChangeThePacketLengthOfEgress) {
  json program = program_of({primitive("remove_header", {header("g")})});
  program["actions"].push_back(
      {{"name", "out"},
       {"id", 1},
       {"runtime_data", json::array()},
       {"primitives", json::array({primitive("assign", {field("c"), field("packet_length", "standard_metadata")})})}});
  program["pipelines"][1]["action_calls"] =
      json::array({{{"name", "out"}, {"id", 9}, {"action_id", 1}, {"next_node", nullptr}}});
  program["pipelines"][1]["init_table"] = "out";
  EXPECT_EQ(Switch(program).one(header_of(kFirst) + kSecond + "77").substr(6, 8), "00000037");
}

TEST(P4Headers, StacksArePushedAndPopped) {
  const json s = {{"type", "header_stack"}, {"value", "s"}};
  EXPECT_EQ(stack_after({}), "112233");
  EXPECT_EQ(stack_after({primitive("push", {s, number("0x1")})}), "112233") << "the first one is not valid";
  EXPECT_EQ(stack_after({primitive("push", {s, number("0x1")}), primitive("add_header", {header("s[0]")})}),
            "00112233");
  EXPECT_EQ(stack_after({primitive("push", {s, number("0x2")})}), "1122");
  EXPECT_EQ(stack_after({primitive("push", {s, number("0x9")})}), "");
  EXPECT_EQ(stack_after({primitive("pop", {s, number("0x1")})}), "2233");
  EXPECT_EQ(stack_after({primitive("pop", {s, number("0x4")})}), "");
  const json u = {{"type", "header_union_stack"}, {"value", "u"}};
  EXPECT_EQ(stack_after({primitive("pop", {u, number("0x2")})}, "union"), "33");
  EXPECT_EQ(stack_after({primitive("push", {u, number("0x2")})}, "union"), "1122");
  EXPECT_EQ(stack_after({primitive("assign_header_stack", {s, s})}), "112233");
  EXPECT_EQ(stack_after({primitive("assign_union_stack", {u, u})}, "union"), "112233");
}

TEST(P4Headers, UnionsAreCopied) {
  const auto u = [](int i) { return json{{"type", "header_union"}, {"value", "u[" + std::to_string(i) + "]"}}; };
  EXPECT_EQ(stack_after({primitive("assign_union", {u(3), u(0)})}, "union"), "11223311");
  EXPECT_EQ(stack_after({primitive("assign_union", {u(0), u(3)})}, "union"), "2233");
  const json same = operation("==", u(0), u(1));
  const json valid = operation("valid_union", nullptr, u(3));
  for (const auto& [condition, bit] : {std::pair(same, "00"), std::pair(valid, "00")}) {
    const json assign = primitive("assign", {field("x", "s[0]"), operation("b2d", nullptr, condition)});
    EXPECT_EQ(stack_after({assign}, "union"), bit + std::string("2233"));
  }
}

TEST(P4Headers, ElementsAreFoundByAnIndexOfThePacket) {
  const json s = {{"type", "header_stack"}, {"value", "s"}};
  const auto element = [&](const json& index) { return operation("dereference_header_stack", s, index); };
  const json second = operation("access_field", element(field("a")), 0);
  EXPECT_EQ(stack_after({primitive("assign", {second, number("0xaa")})}), "11aa33");
  EXPECT_EQ(stack_after({primitive("assign", {field("x", "s[0]"), second})}), "222233");
  EXPECT_EQ(stack_after({primitive("assign", {operation("access_field", element(number("0x2")), 0), number("0xbb")})}),
            "1122bb");
  EXPECT_EQ(stack_after({primitive("remove_header", {element(field("a"))})}), "1133");
  const json beyond = operation("+", field("a"), number("0x9"));
  EXPECT_EQ(stack_after({primitive("assign", {operation("access_field", element(beyond), 0), number("0xaa")})}),
            "112233");
  EXPECT_EQ(stack_after({primitive("assign", {field("x", "s[0]"), operation("access_field", element(beyond), 0)})}),
            "002233");
  EXPECT_EQ(stack_after({primitive("add_header", {element(beyond)})}), "112233");
  EXPECT_EQ(stack_after({primitive("assign", {field("x", "s[0]"), operation("last_stack_index", nullptr, s)})}),
            "022233");
  EXPECT_EQ(stack_after({primitive("assign", {field("x", "s[0]"), operation("size_stack", nullptr, s)})}), "032233");
  EXPECT_EQ(stack_after({primitive("assign", {field("x", "s[0]"), {{"type", "stack_field"}, {"value", {"s", "x"}}}})}),
            "332233");
  const json last = {{"type", "stack_field"}, {"value", {"s", "last"}}};
  EXPECT_EQ(stack_after({primitive("assign_header", {header("s[0]"), last})}), "332233");
  const json u = {{"type", "header_union_stack"}, {"value", "u"}};
  const json in_union = operation("access_union_header", operation("dereference_union_stack", u, field("a")), 0);
  EXPECT_EQ(stack_after({primitive("assign", {operation("access_field", in_union, 0), number("0xcc")})}, "union"),
            "11cc33");
  const json valid = operation("b2d", nullptr, operation("valid", nullptr, element(field("a"))));
  EXPECT_EQ(stack_after({primitive("assign", {field("x", "s[0]"), valid})}), "012233");
}

TEST(P4Headers, JumpsSkipPrimitives) {
  const auto set = [](const char* name, const char* value) {
    return primitive("assign", {field(name), number(value)});
  };
  // The program's own assignment comes first.
  const std::vector<json> over = {primitive("_jump", {number("0x3")}), set("b", "0x1"), set("c", "0x2")};
  EXPECT_EQ(Switch(program_of(over)).one(header_of({})), header_of({.c = 2}));
  const std::vector<json> unless = {primitive("_jump_if_zero", {field("a"), number("0x3")}), set("b", "0x1"),
                                    set("c", "0x2")};
  EXPECT_EQ(Switch(program_of(unless)).one(header_of({})), header_of({.c = 2}));
  EXPECT_EQ(Switch(program_of(unless)).one(header_of({.a = 1})), header_of({.a = 1, .b = 1, .c = 2}));
}

TEST(P4Headers, RegistersAreReadInExpressions) {
  json program = program_of({primitive(
      "assign",
      {field("c"), operation("+", {{"type", "register"}, {"value", json::array({"r", field("a")})}}, number("0x1"))})});
  program["register_arrays"] = json::parse(R"([{"name": "r", "id": 0, "size": 4, "bitwidth": 16}])");
  Switch with(program);
  with.pipeline.control().registers(0).write(2, to_bytes(0xffff));
  EXPECT_EQ(with.one(header_of({.a = 2})), header_of({.a = 2, .c = 0x10000}));
  EXPECT_EQ(with.one(header_of({.a = 9})), header_of({.a = 9, .c = 1})) << "beyond the array";
}

}  // namespace
}  // namespace orrery::p4::testing
