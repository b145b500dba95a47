// SPDX-License-Identifier: Apache-2.0
// What the loader takes and what it refuses, by place and name.
#include <fstream>
#include <functional>
#include <sstream>

#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

using nlohmann::json;

struct Refused {
  std::string pointer;
  std::string text;
  bool unsupported;
};

std::optional<Refused> refused(const json& program) {
  try {
    load_program(program);
  } catch (const ProgramError& error) {
    return Refused{error.pointer, error.what(), error.unsupported};
  }
  return std::nullopt;
}

const std::vector<std::string> kPrograms{"copies", "l3", "matches", "parsing", "state"};

TEST(P4Loader, ProgramsOfTheTestsAreThoseOfTheirSources) {
  for (const std::string& name : kPrograms) {
    std::stringstream source;
    source << std::ifstream(P4_PROGRAMS "/" + name + ".p4").rdbuf();
    uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : source.str()) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
    const json program = read_program(name);
    EXPECT_EQ(std::stoull(program["__meta__"]["source_fnv1a"].get<std::string>(), nullptr, 16), hash)
        << name << ".json is older than its source: run programs/compile.py";
    EXPECT_FALSE(refused(program)) << name;
  }
}

TEST(P4Loader, TellsWhatAProgramHas) {
  const auto program = load_program(read_program("matches"));
  const TableInfo& table = program->tables[program->find_table("IngressImpl.by_range").value()];
  EXPECT_EQ(table.pipeline, "ingress");
  ASSERT_EQ(table.key.size(), 3u);
  EXPECT_EQ(table.key[1].name, "hdr.req.b");
  EXPECT_EQ(table.key[1].target, "req.b");
  EXPECT_EQ(table.key[1].width, 16u);
  EXPECT_EQ(table.key[1].match, MatchKind::kRange);
  EXPECT_TRUE(table.needs_priority);
  const uint32_t set = table.action(program->actions, "IngressImpl.set").value();
  EXPECT_EQ(program->actions[set].params[0].name, "value");
  EXPECT_EQ(program->actions[set].params[0].width, 16u);
  EXPECT_EQ(table.action(program->actions, "IngressImpl.nothing"), std::nullopt);
  EXPECT_EQ(program->find_table("nothing"), std::nullopt);
  EXPECT_TRUE(program->tables[program->find_table("IngressImpl.exact_one").value()].has_idle_timeout);
  EXPECT_EQ(program->meters[0].table, "IngressImpl.marked");
}

TEST(P4Loader, NamesWhatIsNotSupported) {
  struct Case {
    const char* named;
    const char* pointer;
    std::function<void(json&)> change;
  };
  const json one = {{"type", "header"}, {"value", "h"}};
  const auto primitive_0 = [](json& p) -> json& { return p["actions"][0]["primitives"][0]; };
  const auto value_of_0 = [&](json& p) -> json& { return primitive_0(p)["parameters"][1]; };
  const std::vector<Case> cases{
      {"primitive \"frobnicate\"", "/actions/0/primitives/0/op", [&](json& p) { primitive_0(p)["op"] = "frobnicate"; }},
      {"operator \"**\"", "/actions/0/primitives/0/parameters/1/value/op",
       [&](json& p) { value_of_0(p) = operation("**", number("0x1"), number("0x1")); }},
      {"\"vector\" in an expression", "/actions/0/primitives/0/parameters/1/value",
       [&](json& p) {
         value_of_0(p) = {{"type", "vector"}, {"value", 1}};
       }},
      {"a number of more than", "/actions/0/primitives/0/parameters/1",
       [&](json& p) {
         json wide = operation("*", field("v"), field("v"));
         for (int i = 0; i < 4; ++i) wide = operation("*", wide, wide);
         value_of_0(p) = operation("b2d", nullptr, operation("==", wide, number("0x1")));
       }},
      {"an expression nested so deeply", "/actions/0/primitives/0/parameters/1",
       [&](json& p) {
         json deep = field("a");
         for (int i = 0; i < 60; ++i) deep = operation("+", number("0x1"), deep);
         value_of_0(p) = deep;
       }},
      {"a jump back", "/actions/0/primitives/0",
       [&](json& p) { primitive_0(p) = primitive("_jump", {number("0x0")}); }},
      {"a jump to a place that is not constant", "/actions/0/primitives/0/parameters/0",
       [&](json& p) { primitive_0(p) = primitive("_jump", {field("a")}); }},
      {"extern \"thing\"", "/extern_instances/0",
       [](json& p) { p["extern_instances"] = json::parse(R"([{"type": "thing"}])"); }},
      {"a format other than 2.x", "/__meta__/version/0",
       [](json& p) {
         p["__meta__"]["version"] = {1, 0};
       }},
      {"length_exp", "/header_types/1/length_exp",
       [](json& p) {
         p["header_types"][1]["length_exp"] = {{"type", "expression"}};
       }},
      {"a field of more than 2048 bits", "/header_types/1/fields/0/1",
       [](json& p) { p["header_types"][1]["fields"][0][1] = 4096; }},
      {"a header that is not of whole bytes", "/parsers/0/parse_states/0/parser_ops/0/parameters/0/value",
       [](json& p) { p["header_types"][1]["fields"].erase(7); }},
      {"a program of more than one parser", "/parsers", [](json& p) { p["parsers"].push_back(p["parsers"][0]); }},
      {"a program of other than one deparser", "/deparsers",
       [](json& p) { p["deparsers"].push_back(p["deparsers"][0]); }},
      {"a deparser with primitives", "/deparsers/0/primitives",
       [](json& p) { p["deparsers"][0]["primitives"] = json::array({1}); }},
      {"parser operation \"leap\"", "/parsers/0/parse_states/0/parser_ops/0/op",
       [](json& p) { p["parsers"][0]["parse_states"][0]["parser_ops"][0]["op"] = "leap"; }},
      {"extraction of \"moon\"", "/parsers/0/parse_states/0/parser_ops/0/parameters/0/type",
       [](json& p) { p["parsers"][0]["parse_states"][0]["parser_ops"][0]["parameters"][0]["type"] = "moon"; }},
      {"transition \"maybe\"", "/parsers/0/parse_states/0/transitions/0/type",
       [](json& p) { p["parsers"][0]["parse_states"][0]["transitions"][0]["type"] = "maybe"; }},
      {"a select over an expression", "/parsers/0/parse_states/0/transition_key/0",
       [](json& p) {
         p["parsers"][0]["parse_states"][0]["transition_key"][0] = operation("+", field("a"), field("b"));
       }},
      {"a jump or exit in a parser", "/parsers/0/parse_states/0/parser_ops/0",
       [](json& p) {
         p["parsers"][0]["parse_states"][0]["parser_ops"][0] = {{"op", "primitive"},
                                                                {"parameters", json::array({primitive("exit", {})})}};
       }},
      {"pipeline \"middle\"", "/pipelines/0/name", [](json& p) { p["pipelines"][0]["name"] = "middle"; }},
      {"a control flow that comes back", "/pipelines/0",
       [](json& p) { p["pipelines"][0]["action_calls"][0]["next_node"] = "call"; }},
      {"hash \"md5\"", "/calculations/0/algo",
       [](json& p) { p["calculations"] = json::parse(R"([{"name": "c", "id": 0, "algo": "md5", "input": []}])"); }},
      {"\"moon\" as the input of a hash", "/calculations/0/input/0/type",
       [](json& p) {
         p["calculations"] = json::parse(R"([{"name": "c", "id": 0, "algo": "crc16", "input": [{"type": "moon"}]}])");
       }},
      {"checksum \"odd\"", "/checksums/0/type",
       [](json& p) { p["checksums"] = json::parse(R"([{"name": "c", "type": "odd"}])"); }},
      {"a program with arrays of more than", "/register_arrays/0/size",
       [](json& p) {
         p["register_arrays"] = json::parse(R"([{"name": "r", "id": 0, "size": 2147483648, "bitwidth": 32}])");
       }},
      {"a meter with other than two rates", "/meter_arrays/0/rate_count",
       [](json& p) {
         p["meter_arrays"] = json::parse(
             R"([{"name": "m", "id": 0, "is_direct": false, "type": "bytes", "rate_count": 3, "size": 1}])");
       }},
      {"\"moon\" in a digest", "/learn_lists/0/elements/0/type",
       [](json& p) { p["learn_lists"] = json::parse(R"([{"name": "l", "id": 1, "elements": [{"type": "moon"}]}])"); }},
      {R"("moon" in a field list)", "/field_lists/0/elements/0/type",
       [](json& p) { p["field_lists"] = json::parse(R"([{"name": "l", "id": 1, "elements": [{"type": "moon"}]}])"); }},
  };
  for (const Case& each : cases) {
    json program = program_of({});
    ASSERT_FALSE(refused(program));
    each.change(program);
    const auto got = refused(program);
    ASSERT_TRUE(got) << each.named;
    EXPECT_TRUE(got->unsupported) << each.named << ": " << got->text;
    EXPECT_TRUE(got->text.starts_with(each.named)) << got->text;
    EXPECT_EQ(got->pointer, each.pointer) << each.named;
  }
}

TEST(P4Loader, NamesWhatOfTablesIsNotSupported) {
  const auto change = [](const std::function<void(json&)>& change) {
    json program = read_program("matches");
    for (json& table : program["pipelines"][0]["tables"])
      if (table["name"] == "IngressImpl.exact_one") change(table);
    return refused(program);
  };
  struct Case {
    const char* text;
    const char* pointer;
    std::function<void(json&)> change;
  };
  const std::vector<Case> cases{
      {"match kind \"fuzzy\" is not supported", "/key/0/match_type",
       [](json& t) { t["key"][0]["match_type"] = "fuzzy"; }},
      {"match kind \"fuzzy\" is not supported", "/match_type", [](json& t) { t["match_type"] = "fuzzy"; }},
      {"table type \"clever\" is not supported", "/type", [](json& t) { t["type"] = "clever"; }},
      {"does not go with the match kinds of the key", "/match_type", [](json& t) { t["match_type"] = "lpm"; }},
      {"is not the id of an action of the table", "/default_entry/action_id",
       [](json& t) { t["default_entry"]["action_id"] = 99; }},
      {"there is no action profile named \"none\"", "/action_profile",
       [](json& t) {
         t["type"] = "indirect";
         t["action_profile"] = "none";
       }},
      {"there is no table or condition named \"none\"", "/base_default_next",
       [](json& t) { t["base_default_next"] = "none"; }},
      {"there is no header named \"none\"", "/key/0/target/0", [](json& t) { t["key"][0]["target"][0] = "none"; }},
      {R"(header "req" has no field "none")", "/key/0/target/1", [](json& t) { t["key"][0]["target"][1] = "none"; }},
      {"must be an integer from 0 to 4294967295", "/max_size", [](json& t) { t["max_size"] = -1; }},
  };
  for (const Case& each : cases) {
    const auto got = change(each.change);
    ASSERT_TRUE(got) << each.text;
    EXPECT_EQ(got->text, each.text);
    EXPECT_EQ(got->pointer, std::string("/pipelines/0/tables/1") + each.pointer);
  }
}

// The places of all texts of a program but of those that tell where its source is.
std::vector<json::json_pointer> texts_of(const json& program) {
  std::vector<json::json_pointer> places;
  const json flat = program.flatten();
  for (const auto& [place, leaf] : flat.items())
    if (leaf.is_string() && place.find("/source_info/") == std::string::npos) places.emplace_back(place);
  return places;
}

TEST(P4Loader, NoRefusalEndsInASpaceWhateverIsNamed) {
  const std::vector<const char*> texts{"", " ", "none "};
  size_t refusals = 0;
  for (const char* name : {"l3", "parsing", "state"}) {
    json program = read_program(name);
    for (const json::json_pointer& place : texts_of(program)) {
      const json before = program[place];
      program[place] = texts[refusals % texts.size()];
      const auto got = refused(program);
      program[place] = before;
      if (!got) continue;
      ++refusals;
      ASSERT_FALSE(got->text.empty()) << name << place;
      ASSERT_NE(got->text.back(), ' ') << name << place << ": " << got->text;
    }
  }
  EXPECT_GT(refusals, 500u);
}

TEST(P4Loader, RefusesWhatIsNoProgram) {
  for (const char* text :
       {"{}", "[]", "null", R"({"__meta__": {"version": [2, 24]}})", R"({"__meta__": {"version": 2}})"}) {
    const auto got = refused(json::parse(text));
    ASSERT_TRUE(got) << text;
    EXPECT_FALSE(got->unsupported);
    EXPECT_FALSE(got->text.empty());
  }
  json program = program_of({});
  program["headers"][0]["name"] = "other_metadata";
  program["actions"][0]["primitives"] = json::array();
  EXPECT_NE(refused(program)->text.find("v1model"), std::string::npos) << "a program for another architecture";
}

}  // namespace
}  // namespace orrery::p4::testing
