// SPDX-License-Identifier: Apache-2.0
#include "core/graph_spec.h"

#include <gtest/gtest.h>

#include <random>

#include "engine_fixture.h"

namespace orrery {
namespace {

using nlohmann::json;
using testing::GraphBuilder;
using testing::refusal;

GraphBuilder good() {
  GraphBuilder g;
  g.port({{"name", "p"}, {"driver", "null"}});
  g.module("in", "port_in", {{"port", "p"}}).module("q", "queue").module("c", "counter").module("s", "sink");
  g.nf("fw", "firewall");
  g.chain({"in", "q", "fw", "c", "s"}).task("in").task("q", 1);
  return g;
}

std::string refusal_of(const json& graph) {
  return refusal([&] { parse_graph(graph, 2); });
}

TEST(GraphSpec, AcceptsAGoodGraph) {
  const GraphSpec spec = parse_graph(good().json, 2);
  EXPECT_EQ(spec.modules.size(), 5u);
  EXPECT_EQ(spec.workers, (std::vector<uint32_t>{0, 1, 1, 1, 1}));
  EXPECT_EQ(refusal_of(json::parse(testing::kEmptyGraph)), "none");
}

TEST(GraphSpec, NamesTheFieldAtFault) {
  const std::vector<std::tuple<const char*, const char*, const char*>> cases = {
      // What is changed in the good graph (JSON Patch), and what is said about it.
      {"generation", R"([{"op":"remove","path":"/generation"}])", "bad-request /generation"},
      {"generation", R"([{"op":"replace","path":"/generation","value":-1}])", "bad-request /generation"},
      {"generation", R"([{"op":"replace","path":"/generation","value":1.5}])", "bad-request /generation"},
      {"unknown", R"([{"op":"add","path":"/x~1y","value":1}])", "bad-request /x~1y"},
      {"ports", R"([{"op":"replace","path":"/ports","value":{}}])", "bad-request /ports"},
      {"port", R"([{"op":"replace","path":"/ports/0","value":3}])", "bad-request /ports/0"},
      {"port name", R"([{"op":"replace","path":"/ports/0/name","value":"a b"}])", "bad-request /ports/0/name"},
      {"port twice", R"([{"op":"add","path":"/ports/-","value":{"name":"p","driver":"ring"}}])",
       "invalid-graph /ports/1/name"},
      {"driver", R"([{"op":"replace","path":"/ports/0/driver","value":"dpaa"}])", "invalid-graph /ports/0/driver"},
      {"null size", R"([{"op":"add","path":"/ports/0/packet_bytes","value":59}])", "bad-request /ports/0/packet_bytes"},
      {"iface", R"([{"op":"add","path":"/ports/-","value":{"name":"a","driver":"af_packet","iface":"a,b=1"}}])",
       "bad-request /ports/1/iface"},
      {"iface", R"([{"op":"add","path":"/ports/-","value":{"name":"a","driver":"af_xdp","iface":"a,b=1"}}])",
       "bad-request /ports/1/iface"},
      {"memif role", R"([{"op":"add","path":"/ports/-","value":
        {"name":"a","driver":"memif","socket":"s","role":"both"}}])",
       "bad-request /ports/1/role"},
      {"memif socket", R"([{"op":"add","path":"/ports/-","value":
        {"name":"a","driver":"memif","socket":"s,id=1","role":"server"}}])",
       "bad-request /ports/1/socket"},
      {"iface long", R"([{"op":"add","path":"/ports/-","value":{"name":"a","driver":"af_packet",
        "iface":"sixteen-letters-"}}])",
       "bad-request /ports/1/iface"},
      {"pcap path",
       R"([{"op":"add","path":"/ports/-","value":{"name":"a","driver":"pcap","rx_file":"/a,infinite_rx=1"}}])",
       "bad-request /ports/1/rx_file"},
      {"pcap nothing", R"([{"op":"add","path":"/ports/-","value":{"name":"a","driver":"pcap","rx_file":null}}])",
       "invalid-graph /ports/1/rx_file"},
      {"kind", R"([{"op":"replace","path":"/modules/2/kind","value":"teleport"}])", "invalid-graph /modules/2/kind"},
      {"config", R"([{"op":"replace","path":"/modules/2/config","value":[]}])", "bad-request /modules/2/config"},
      {"plumbing has no metadata", R"([{"op":"add","path":"/modules/2/metadata","value":{}}])",
       "bad-request /modules/2/metadata"},
      {"metadata",
       R"([{"op":"replace","path":"/modules/4/metadata","value":{"a":{"offset":15,"width":2,"values":{}}}}])",
       "bad-request /modules/4/metadata/a/width"},
      {"metadata value",
       R"([{"op":"replace","path":"/modules/4/metadata","value":{"a":{"offset":0,"width":2,"values":{"x":4}}}}])",
       "bad-request /modules/4/metadata/a/values/x"},
      {"module twice", R"([{"op":"replace","path":"/modules/3/name","value":"c"}])", "invalid-graph /modules/3/name"},
      {"link from", R"([{"op":"replace","path":"/links/1/from","value":"zz"}])", "invalid-graph /links/1/from"},
      {"link to", R"([{"op":"replace","path":"/links/1/to","value":"zz"}])", "invalid-graph /links/1/to"},
      {"gate out of range", R"([{"op":"replace","path":"/links/0/gate","value":256}])", "bad-request /links/0/gate"},
      {"no such gate", R"([{"op":"replace","path":"/links/0/gate","value":1}])", "invalid-graph /links/0/gate"},
      {"sink has no gate", R"([{"op":"add","path":"/links/-","value":{"from":"s","gate":0,"to":"c"}}])",
       "invalid-graph /links/4/gate"},
      {"no such input", R"([{"op":"replace","path":"/links/1/input","value":2}])", "invalid-graph /links/1/input"},
      {"nothing goes into a port_in", R"([{"op":"add","path":"/links/-","value":{"from":"fw","gate":1,"to":"in"}}])",
       "invalid-graph /links/4/input"},
      {"gate twice", R"([{"op":"add","path":"/links/-","value":{"from":"in","gate":0,"to":"s"}}])",
       "invalid-graph /links/4/gate"},
      {"task", R"([{"op":"replace","path":"/tasks/0/module","value":"c"}])", "invalid-graph /tasks/0/module"},
      {"task twice", R"([{"op":"replace","path":"/tasks/0/module","value":"q"}])", "invalid-graph /tasks/1/module"},
      {"no task", R"([{"op":"remove","path":"/tasks/1"}])", "invalid-graph /modules/1"},
      {"worker", R"([{"op":"replace","path":"/tasks/1/worker","value":2}])", "invalid-graph /tasks/1/worker"},
      {"one module, two workers", R"([{"op":"replace","path":"/links/0/to","value":"c"}])",
       "invalid-graph /tasks/1/worker"},
      {"self loop", R"([{"op":"replace","path":"/links/3/to","value":"c"}])", "invalid-graph /links/3"},
      {"loop", R"([{"op":"replace","path":"/links/3/to","value":"fw"}])", "invalid-graph /links/2"},
  };
  for (const auto& [what, patch, expected] : cases)
    EXPECT_EQ(refusal_of(good().json.patch(json::parse(patch))), expected) << what << ": " << patch;
}

TEST(GraphSpec, ALoopThroughAQueueIsNone) {
  json graph = good().json;
  graph["links"][3]["to"] = "q";
  EXPECT_EQ(refusal_of(graph), "none");
}

// Random graphs, against a search for cycles that ignores edges out of queues.
TEST(GraphSpec, RefusesGraphsWithCyclesAndNoOthers) {
  std::mt19937_64 rng(11);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    const int n = 2 + static_cast<int>(rng() % 9);
    GraphBuilder g;
    std::vector<bool> queue(n);
    std::vector<std::vector<int>> edges(n);
    for (int i = 0; i < n; ++i) {
      queue[i] = rng() % 5 == 0;
      const std::string name = "m" + std::to_string(i);
      if (queue[i]) {
        g.module(name, "queue").task(name);
      } else {
        g.module(name, "classify", {{"rules", json::array()}});
      }
      const uint64_t out = queue[i] ? rng() % 2 : rng() % 3;
      for (uint64_t gate = 0; gate < out; ++gate) {
        edges[i].push_back(static_cast<int>(rng() % n));
        g.json["links"].push_back({{"from", name}, {"gate", gate}, {"to", "m" + std::to_string(edges[i].back())}});
      }
    }
    std::vector<std::vector<bool>> reach(n, std::vector<bool>(n));
    for (int i = 0; i < n; ++i)
      for (int to : edges[i]) reach[i][to] = reach[i][to] || !queue[i];
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
    bool cyclic = false;
    for (int i = 0; i < n; ++i) cyclic = cyclic || reach[i][i];
    if (cyclic) {
      ++refused;
      std::string pointer;
      try {
        parse_graph(g.json, 1);
        ADD_FAILURE() << g.json.dump();
      } catch (const EngineError& error) {
        EXPECT_EQ(error.code, "invalid-graph");
        pointer = error.pointer;
      }
      const json& link = g.json.at(json::json_pointer(pointer));
      const auto index = [](const json& name) { return std::stoi(name.get<std::string>().substr(1)); };
      EXPECT_TRUE(reach[index(link["to"])][index(link["from"])] || link["to"] == link["from"]) << pointer;
      continue;
    }
    EXPECT_EQ(parse_graph(g.json, 1).modules.size(), static_cast<size_t>(n));
  }
  EXPECT_GT(refused, 50);
}

TEST(GraphSpec, TakesTheLargestGraph) {
  GraphBuilder g;
  g.module("src", "source").task("src");
  for (int i = 0; i < 4095; ++i) g.module("c" + std::to_string(i), "counter");
  g.link("src", 0, "c0");
  for (int i = 1; i < 4095; ++i) g.link("c" + std::to_string(i - 1), 0, "c" + std::to_string(i));
  EXPECT_EQ(refusal_of(g.json), "none");
  g.module("one-more", "counter");
  EXPECT_EQ(refusal_of(g.json), "bad-request /modules");
}

}  // namespace
}  // namespace orrery
