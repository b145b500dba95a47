// SPDX-License-Identifier: Apache-2.0
// Which scheduler trees are accepted, and which field is named when one is not.
#include <gtest/gtest.h>

#include <cmath>

#include "core/graph_spec.h"
#include "engine_fixture.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::GraphBuilder;
using testing::refusal;

json with_trees() {
  GraphBuilder g;
  g.module("a", "source").task("a").module("q", "queue").task("q").module("b", "source").task("b", 1);
  g.module("s", "sink").module("t", "sink").chain({"a", "q", "s"}).chain({"b", "t"});
  g.json["schedulers"] = json::parse(R"([
    {"worker": 0, "tree": [
      {"kind": "priority", "id": "root", "parent": null, "weight": null, "level": null},
      {"kind": "rate-limit", "id": "limit", "parent": "root", "weight": null, "level": 0, "resource": "bits", "per_second": 1e9},
      {"kind": "weighted-fair", "id": "fair", "parent": "root", "weight": null, "level": 1, "when_idle": "poll"},
      {"kind": "task", "id": "x", "parent": "limit", "weight": null, "level": null, "module": "a"},
      {"kind": "task", "id": "y", "parent": "fair", "weight": 0.5, "level": null, "module": "q"}]},
    {"worker": 1, "tree": [{"kind": "round-robin", "id": "root", "parent": null, "weight": null, "level": null}]}])");
  return g.json;
}

std::string tree_refusal(const json& graph) {
  return refusal([&] { parse_graph(graph, 2); });
}

TEST(ScheduleSpec, AcceptsGoodTrees) {
  const GraphSpec spec = parse_graph(with_trees(), 2);
  ASSERT_EQ(spec.schedulers.size(), 2u);
  EXPECT_EQ(spec.schedulers[0].nodes.size(), 5u);
  EXPECT_EQ(spec.schedulers[0].nodes[4].parent, 2u);
  EXPECT_EQ(spec.schedulers[0].nodes[4].weight, 0.5);
}

TEST(ScheduleSpec, NamesTheFieldAtFault) {
  const std::vector<std::tuple<const char*, const char*, const char*>> cases = {
      {"no list", R"([{"op":"replace","path":"/schedulers","value":{}}])", "bad-request /schedulers"},
      {"no such worker", R"([{"op":"replace","path":"/schedulers/1/worker","value":2}])",
       "invalid-graph /schedulers/1/worker"},
      {"worker twice", R"([{"op":"replace","path":"/schedulers/1/worker","value":0}])",
       "invalid-graph /schedulers/1/worker"},
      {"empty tree", R"([{"op":"replace","path":"/schedulers/1/tree","value":[]}])", "bad-request /schedulers/1/tree"},
      {"no kind", R"([{"op":"remove","path":"/schedulers/0/tree/0/kind"}])", "bad-request /schedulers/0/tree/0/kind"},
      {"unknown kind", R"([{"op":"replace","path":"/schedulers/0/tree/0/kind","value":"lottery"}])",
       "invalid-graph /schedulers/0/tree/0/kind"},
      {"id twice", R"([{"op":"replace","path":"/schedulers/0/tree/4/id","value":"x"}])",
       "invalid-graph /schedulers/0/tree/4/id"},
      {"root with a parent", R"([{"op":"replace","path":"/schedulers/0/tree/0/parent","value":"fair"}])",
       "invalid-graph /schedulers/0/tree/0/parent"},
      {"two roots", R"([{"op":"replace","path":"/schedulers/0/tree/1/parent","value":null}])",
       "invalid-graph /schedulers/0/tree/1/parent"},
      {"unknown parent", R"([{"op":"replace","path":"/schedulers/0/tree/1/parent","value":"zz"}])",
       "invalid-graph /schedulers/0/tree/1/parent"},
      {"its own parent", R"([{"op":"replace","path":"/schedulers/0/tree/1/parent","value":"limit"}])",
       "invalid-graph /schedulers/0/tree/1/parent"},
      {"cycle", R"([{"op":"replace","path":"/schedulers/0/tree/1/parent","value":"fair"},
                    {"op":"replace","path":"/schedulers/0/tree/2/parent","value":"limit"}])",
       "invalid-graph /schedulers/0/tree/1/parent"},
      {"below a task", R"([{"op":"replace","path":"/schedulers/0/tree/4/parent","value":"x"}])",
       "invalid-graph /schedulers/0/tree/4/parent"},
      {"a missing weight", R"([{"op":"replace","path":"/schedulers/0/tree/4/weight","value":null}])",
       "invalid-graph /schedulers/0/tree/4/weight"},
      {"no member weight", R"([{"op":"remove","path":"/schedulers/0/tree/4/weight"}])",
       "bad-request /schedulers/0/tree/4/weight"},
      {"a weight of 0", R"([{"op":"replace","path":"/schedulers/0/tree/4/weight","value":0}])",
       "bad-request /schedulers/0/tree/4/weight"},
      {"a weight below 0", R"([{"op":"replace","path":"/schedulers/0/tree/4/weight","value":-1}])",
       "bad-request /schedulers/0/tree/4/weight"},
      {"a weight that is none", R"([{"op":"replace","path":"/schedulers/0/tree/4/weight","value":"1"}])",
       "bad-request /schedulers/0/tree/4/weight"},
      {"an absurd weight", R"([{"op":"replace","path":"/schedulers/0/tree/4/weight","value":1e300}])",
       "bad-request /schedulers/0/tree/4/weight"},
      {"a weight below priority", R"([{"op":"replace","path":"/schedulers/0/tree/1/weight","value":1}])",
       "invalid-graph /schedulers/0/tree/1/weight"},
      {"a weight of the root", R"([{"op":"replace","path":"/schedulers/0/tree/0/weight","value":1}])",
       "invalid-graph /schedulers/0/tree/0/weight"},
      {"a missing level", R"([{"op":"replace","path":"/schedulers/0/tree/1/level","value":null}])",
       "invalid-graph /schedulers/0/tree/1/level"},
      {"a level below 0", R"([{"op":"replace","path":"/schedulers/0/tree/1/level","value":-1}])",
       "bad-request /schedulers/0/tree/1/level"},
      {"a level below weighted-fair", R"([{"op":"replace","path":"/schedulers/0/tree/4/level","value":1}])",
       "invalid-graph /schedulers/0/tree/4/level"},
      {"when_idle", R"([{"op":"replace","path":"/schedulers/0/tree/2/when_idle","value":"sleep"}])",
       "bad-request /schedulers/0/tree/2/when_idle"},
      {"no when_idle", R"([{"op":"remove","path":"/schedulers/0/tree/2/when_idle"}])",
       "bad-request /schedulers/0/tree/2/when_idle"},
      {"when_idle elsewhere", R"([{"op":"add","path":"/schedulers/0/tree/0/when_idle","value":"poll"}])",
       "bad-request /schedulers/0/tree/0/when_idle"},
      {"resource", R"([{"op":"replace","path":"/schedulers/0/tree/1/resource","value":"bytes"}])",
       "bad-request /schedulers/0/tree/1/resource"},
      {"no rate", R"([{"op":"remove","path":"/schedulers/0/tree/1/per_second"}])",
       "bad-request /schedulers/0/tree/1/per_second"},
      {"a rate of 0", R"([{"op":"replace","path":"/schedulers/0/tree/1/per_second","value":0}])",
       "bad-request /schedulers/0/tree/1/per_second"},
      {"a rate that is null", R"([{"op":"replace","path":"/schedulers/0/tree/1/per_second","value":null}])",
       "bad-request /schedulers/0/tree/1/per_second"},
      {"an absurd rate", R"([{"op":"replace","path":"/schedulers/0/tree/1/per_second","value":1e16}])",
       "bad-request /schedulers/0/tree/1/per_second"},
      {"no such module", R"([{"op":"replace","path":"/schedulers/0/tree/3/module","value":"zz"}])",
       "invalid-graph /schedulers/0/tree/3/module"},
      {"no task", R"([{"op":"replace","path":"/schedulers/0/tree/3/module","value":"s"}])",
       "invalid-graph /schedulers/0/tree/3/module"},
      {"a task of another worker", R"([{"op":"replace","path":"/schedulers/0/tree/3/module","value":"b"}])",
       "invalid-graph /schedulers/0/tree/3/module"},
      {"module twice", R"([{"op":"replace","path":"/schedulers/0/tree/4/module","value":"a"}])",
       "invalid-graph /schedulers/0/tree/4/module"},
      {"unknown member", R"([{"op":"add","path":"/schedulers/0/tree/4/deadline","value":1}])",
       "bad-request /schedulers/0/tree/4/deadline"},
  };
  for (const auto& [what, patch, expected] : cases)
    EXPECT_EQ(tree_refusal(with_trees().patch(json::parse(patch))), expected) << what << ": " << patch;
}

TEST(ScheduleSpec, NotANumberIsRefused) {
  json graph = with_trees();
  for (const double value : {std::nan(""), HUGE_VAL}) {
    graph["schedulers"][0]["tree"][4]["weight"] = value;
    EXPECT_EQ(tree_refusal(graph), "bad-request /schedulers/0/tree/4/weight");
  }
}

TEST(ScheduleSpec, ATreeHasALargestDepth) {
  json graph = with_trees();
  json tree = json::array({graph["schedulers"][1]["tree"][0]});
  while (tree.size() <= kMaxScheduleDepth) {
    EXPECT_EQ(tree_refusal(graph), "none");
    tree.push_back({{"kind", "round-robin"},
                    {"id", "n" + std::to_string(tree.size())},
                    {"parent", tree.back()["id"]},
                    {"weight", nullptr},
                    {"level", nullptr}});
    graph["schedulers"][1]["tree"] = tree;
  }
  EXPECT_EQ(tree_refusal(graph), "invalid-graph /schedulers/1/tree/32/parent");
}

}  // namespace
}  // namespace orrery
