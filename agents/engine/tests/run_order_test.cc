// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/waker.h"
#include "engine_fixture.h"

namespace orrery {
namespace {

using testing::GraphBuilder;

struct Built {
  explicit Built(const GraphBuilder& g, const Graph* old = nullptr)
      : graph(build_graph(parse_graph(g.json, 2), old, testing::eal().pool(), log, {&wakers[0], &wakers[1]})) {}

  StreamLog log{4096};
  Waker wakers[2];
  std::unique_ptr<Graph> graph;

  // Position in the order of the node whose counters are those of worker 0, if the module is a queue of worker 1.
  size_t position(const std::string& name) const {
    return std::ranges::find_if(graph->by_rank,
                                [&](const Node* node) {
                                  const bool inlet = std::ranges::any_of(
                                      graph->inlets, [&](const Inlet& it) { return it.node.get() == node; });
                                  return node->name == name && (inlet || node->kind->name != "queue");
                                }) -
           graph->by_rank.begin();
  }
};

TEST(RunOrder, WhatAnotherWorkerWaitsForIsHandedOverBeforeOwnNfsRun) {
  GraphBuilder g;
  g.module("source", "source").task("source");
  g.module("mirror", "mirror", {{"nested", false}, {"copies", {{{"writes", false}}, {{"writes", false}}}}});
  g.module("own", "l2-forwarder").module("away", "queue").task("away", 1).module("other", "l2-forwarder");
  g.module("end", "sink").module("other-end", "sink");
  g.chain({"source", "mirror"}).link("mirror", 0, "own").link("mirror", 1, "away");
  g.chain({"own", "end"}).chain({"away", "other", "other-end"});
  const Built first(g), second(g, first.graph.get());
  for (const Built* built : {&first, &second}) {
    ASSERT_LT(built->position("mirror"), built->position("away"));
    EXPECT_LT(built->position("away"), built->position("own"));
  }
}

TEST(RunOrder, WhatLeavesTheEngineIsSentBeforeOwnNfsRun) {
  GraphBuilder g;
  g.port({{"name", "p"}, {"driver", "null"}}).module("source", "source").task("source");
  g.module("mirror", "mirror", {{"nested", false}, {"copies", {{{"writes", false}}, {{"writes", false}}}}});
  g.module("own", "l2-forwarder")
      .module("end", "sink")
      .module("mark", "counter")
      .module("out", "port_out", {{"port", "p"}});
  g.chain({"source", "mirror"}).link("mirror", 0, "own").link("mirror", 1, "mark");
  g.chain({"own", "end"}).chain({"mark", "out"});
  const Built built(g);
  EXPECT_LT(built.position("out"), built.position("own"));
}

// Random graphs: each node runs after all that lead to it, and no NF while anything else could.
TEST(RunOrder, IsTopologicalWithNfsAsLateAsThatAllows) {
  std::mt19937_64 rng(23);
  for (int round = 0; round < 300; ++round) {
    const int n = 3 + static_cast<int>(rng() % 10);
    GraphBuilder g;
    g.module("m0", "source").task("m0");
    std::vector<bool> nf(n);
    std::vector<std::vector<bool>> reach(n, std::vector<bool>(n));
    std::vector<int> gates(n);
    for (int i = 1; i < n; ++i) {
      nf[i] = rng() % 2 == 0;
      const std::string name = "m" + std::to_string(i);
      if (nf[i]) {
        g.module(name, "l2-forwarder");
      } else {
        g.module(name, "classify", {{"rules", nlohmann::json::array()}});
      }
      const auto from = static_cast<int>(rng() % i);
      const int most = from == 0 ? 1 : 2;
      if (gates[from] == most) continue;
      g.link("m" + std::to_string(from), gates[from]++, name);
      reach[from][i] = true;
      for (int k = 0; k < n; ++k) reach[k][i] = reach[k][i] || reach[k][from];
    }
    const Built built(g);
    std::vector<size_t> position(n);
    for (int i = 0; i < n; ++i) position[i] = built.position("m" + std::to_string(i));
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        if (reach[i][j]) {
          EXPECT_LT(position[i], position[j]);
        }
        if (!nf[i] || nf[j] || position[j] < position[i]) continue;
        bool waits = false;
        for (int k = 0; k < n; ++k) waits = waits || (reach[k][j] && position[k] >= position[i]);
        EXPECT_TRUE(waits) << "m" << j << " could run before m" << i << ": " << g.json.dump();
      }
    }
  }
}

}  // namespace
}  // namespace orrery
