// SPDX-License-Identifier: Apache-2.0
// Every operator, on numbers of 64 bits, of more, and of neither.
#include <functional>
#include <random>

#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

using nlohmann::json;

const Fields kFields{.a = 0x0c,
                     .b = 0xfff0,
                     .c = 0x80000001,
                     .d = 0xffffffffffffffff,
                     .w = "0fffffffffffffffffffffffff",
                     .v = "80000000000000000000000000000000000000000000000001",
                     .s = 0xfe};  // -2

// What `value` assigned to a field gives, as the field's bits.
std::string assigned(const json& value, const std::string& to) {
  Switch with(program_of({primitive("assign", {field(to), value})}));
  const std::string out = with.one(header_of(kFields));
  EXPECT_EQ(out.size(), 108u);
  const std::vector<std::pair<std::string, std::pair<uint32_t, uint32_t>>> places{
      {"a", {0, 8}},     {"b", {8, 16}},    {"c", {24, 32}}, {"d", {56, 64}},
      {"w", {120, 100}}, {"v", {220, 200}}, {"s", {420, 8}}};
  for (const auto& [name, place] : places) {
    if (name == to) return out.substr(place.first / 4, place.second / 4);
  }
  return "";
}

json cast(const json& value, const std::string& mask) {
  return operation("&", value, number(mask));
}

struct Case {
  json value;
  const char* to;
  const char* bits;
};

TEST(P4Operators, GiveWhatP4Says) {
  const json a = field("a");
  const json b = field("b");
  const json c = field("c");
  const json d = field("d");
  const json s = field("s");
  const auto op = [](const char* name, const json& left, const json& right) { return operation(name, left, right); };
  const auto one = [](const char* name, const json& right) { return operation(name, nullptr, right); };
  const auto as_data = [&](const json& value) { return one("b2d", value); };
  const std::vector<Case> cases{
      {op("+", a, number("0xff")), "b", "010b"},
      {op("+", a, number("0xff")), "a", "0b"},
      {op("-", a, number("0x0d")), "b", "ffff"},
      {cast(op("-", a, number("0x0d")), "0xff"), "b", "00ff"},
      {op("*", b, b), "c", "ffe00100"},
      {op("/", b, a), "b", "1554"},
      {op("/", b, number("0x0")), "b", "0000"},
      {op("%", b, a), "b", "0000"},
      {op("%", c, number("0x0a")), "a", "09"},
      {op("%", c, number("0x0")), "a", "00"},
      {op("<<", a, number("0x4")), "b", "00c0"},
      {op("<<", a, number("0x4")), "a", "c0"},
      {op("<<", a, a), "b", "c000"},
      {op("<<", d, b), "d", "0000000000000000"},
      {op(">>", c, number("0x1f")), "b", "0001"},
      {op(">>", c, a), "c", "00080000"},
      {op(">>", d, b), "d", "0000000000000000"},
      {op("&", b, number("0x0ff0")), "b", "0ff0"},
      {op("|", a, number("0xf0")), "a", "fc"},
      {op("^", b, number("0xffff")), "b", "000f"},
      {cast(one("~", a), "0xff"), "b", "00f3"},
      {one("~", a), "b", "fff3"},
      {as_data(op("==", d, number("0xffffffffffffffff"))), "a", "01"},
      {as_data(op("!=", d, number("0xffffffffffffffff"))), "a", "00"},
      {as_data(op(">", d, number("0x1"))), "a", "01"},
      {as_data(op(">=", d, d)), "a", "01"},
      {as_data(op("<", d, number("0x1"))), "a", "00"},
      {as_data(op("<=", a, a)), "a", "01"},
      {as_data(op("<", s, number("0x0"))), "a", "01"},
      {as_data(op(">", number("-0x1"), s)), "a", "01"},
      {op("+", s, number("0x1")), "s", "ff"},
      {op(">>", s, number("0x1")), "s", "ff"},
      {s, "b", "fffe"},
      {as_data(op("and", op(">", a, number("0x0")), op(">", b, number("0x0")))), "a", "01"},
      {as_data(op("and", op(">", a, number("0x0")), op("==", b, number("0x0")))), "a", "00"},
      {as_data(op("or", op("==", a, number("0x0")), op(">", b, number("0x0")))), "a", "01"},
      {as_data(one("not", op("==", a, number("0x0")))), "a", "01"},
      {as_data(one("d2b", a)), "a", "01"},
      {as_data(op("==", one("d2b", a), {{"type", "bool"}, {"value", true}})), "a", "01"},
      {op("two_comp_mod", number("0x101"), number("0x8")), "b", "0001"},
      {op("two_comp_mod", number("-0x81"), number("0x8")), "b", "007f"},
      {op("two_comp_mod", b, number("0x10")), "c", "fffffff0"},
      {op("sat_cast", op("+", s, number("-0x7f")), number("0x8")), "s", "80"},
      {op("sat_cast", op("+", a, number("0x7f")), number("0x8")), "s", "7f"},
      {op("usat_cast", op("+", b, number("0x20")), number("0x10")), "b", "ffff"},
      {op("usat_cast", op("-", a, number("0x0d")), number("0x8")), "a", "00"},
      {as_data(one("valid", {{"type", "header"}, {"value", "h"}})), "a", "01"},
      {as_data(one("valid", {{"type", "header"}, {"value", "g"}})), "a", "00"},
      {op("access_field", {{"type", "header"}, {"value", "h"}}, 1), "c", "0000fff0"},
      {as_data(op("==", {{"type", "header"}, {"value", "h"}}, {{"type", "header"}, {"value", "h"}})), "a", "01"},
      {as_data(op("!=", {{"type", "header"}, {"value", "h"}}, {{"type", "header"}, {"value", "g"}})), "a", "01"},
  };
  for (const Case& each : cases) EXPECT_EQ(assigned(each.value, each.to), each.bits) << each.value << " to " << each.to;
}

TEST(P4Operators, ChooseByACondition) {
  for (const auto& [compared, bits] : {std::pair("0x0c", "0009"), std::pair("0x0d", "fff0")}) {
    json choice = {{"op", "?"}, {"cond", operation("==", field("a"), number(compared))}};
    choice["left"] = number("0x9");
    choice["right"] = field("b");
    EXPECT_EQ(assigned(expression(choice), "b"), bits);
  }
}

TEST(P4Operators, KeepAllBitsOfWideNumbers) {
  const json d = field("d");
  const json w = field("w");
  const json v = field("v");
  const std::string ones = "fffffffffffffffff";  // 68 bits
  const std::vector<Case> cases{
      {operation("+", d, number("0x1")), "w", "0000000010000000000000000"},
      {operation("*", d, d), "v", "000000000000000000fffffffffffffffe0000000000000001"},
      {operation("+", w, number("0x1")), "v", "00000000000000000000000010000000000000000000000000"},
      {operation("-", number("0x0"), number("0x1")), "w", "fffffffffffffffffffffffff"},
      {operation("<<", number("0x1"), field("a")), "v", "00000000000000000000000000000000000000000000001000"},
      {operation("<<", number("0x1"), number("0xc7")), "v", "80000000000000000000000000000000000000000000000000"},
      {operation(">>", v, number("0xc7")), "a", "01"},
      {operation("|", v, number("0x10")), "v", "80000000000000000000000000000000000000000000000011"},
      {operation("^", w, w), "w", "0000000000000000000000000"},
      {operation("&", w, number("0x" + ones)), "w", "00000000fffffffffffffffff"},
      {operation("/", v, number("0x2")), "v", "40000000000000000000000000000000000000000000000000"},
      {operation("%", v, number("0x2")), "a", "01"},
      {operation("-", number("0x0"), operation("/", v, number("-0x2"))), "v",
       "40000000000000000000000000000000000000000000000000"},
      {operation("%", operation("-", number("0x0"), v), number("0x4")), "s", "ff"},
      {operation("~", nullptr, v), "v", "7ffffffffffffffffffffffffffffffffffffffffffffffffe"},
      {operation("two_comp_mod", v, number("0xc8")), "s", "01"},
      {operation("b2d", nullptr, operation("<", operation("two_comp_mod", v, number("0xc8")), number("0x0"))), "a",
       "01"},
      {operation("b2d", nullptr, operation("<", v, number("0x0"))), "a", "00"},
      {operation("sat_cast", v, number("0x80")), "v", "0000000000000000007fffffffffffffffffffffffffffffff"},
      {operation("usat_cast", operation("-", w, v), number("0x80")), "w", "0000000000000000000000000"},
      {operation("b2d", nullptr,
                 operation("==", w, operation("-", operation("<<", number("0x1"), number("0x64")), number("0x1")))),
       "a", "01"},
  };
  for (const Case& each : cases) EXPECT_EQ(assigned(each.value, each.to), each.bits) << each.value << " to " << each.to;
}

// Against arithmetic of the compiler, on random numbers.
TEST(P4Operators, AgreeWithArithmeticOnRandomNumbers) {
  std::mt19937_64 random(1);
  const std::vector<std::pair<std::string, std::function<uint64_t(uint64_t, uint64_t)>>> operators{
      {"+", [](uint64_t x, uint64_t y) { return x + y; }},
      {"-", [](uint64_t x, uint64_t y) { return x - y; }},
      {"*", [](uint64_t x, uint64_t y) { return x * y; }},
      {"/", [](uint64_t x, uint64_t y) { return y == 0 ? 0 : x / y; }},
      {"%", [](uint64_t x, uint64_t y) { return y == 0 ? 0 : x % y; }},
      {"&", [](uint64_t x, uint64_t y) { return x & y; }},
      {"|", [](uint64_t x, uint64_t y) { return x | y; }},
      {"^", [](uint64_t x, uint64_t y) { return x ^ y; }},
      {"<<", [](uint64_t x, uint64_t y) { return y > 63 ? 0 : x << y; }},
      {">>", [](uint64_t x, uint64_t y) { return y > 63 ? 0 : x >> y; }}};
  for (const auto& [name, expected] : operators) {
    Switch with(program_of({primitive("assign", {field("d"), operation(name, field("d"), field("c"))})}));
    for (int i = 0; i < 50; ++i) {
      const uint64_t x = random() >> random() % 64;
      const auto y = static_cast<uint32_t>(random() >> (32 + random() % 32));
      const std::string out = with.one(header_of({.c = y, .d = x}));
      EXPECT_EQ(std::stoull(out.substr(14, 16), nullptr, 16), expected(x, y)) << x << name << y;
    }
  }
}

}  // namespace
}  // namespace orrery::p4::testing
