// SPDX-License-Identifier: Apache-2.0
#include "core/run_order.h"

#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "core/module_kinds.h"

namespace orrery {

std::vector<Node*> run_order(const Graph& graph) {
  std::vector<Node*> nodes;
  nodes.reserve(graph.nodes.size() + graph.inlets.size());
  for (const auto& node : graph.nodes) nodes.push_back(node.get());
  for (const Inlet& inlet : graph.inlets) nodes.push_back(inlet.node.get());
  std::unordered_map<const Node*, size_t> index;
  for (size_t i = 0; i < nodes.size(); ++i) index.emplace(nodes[i], i);

  // Kahn's method.
  std::vector<std::vector<size_t>> next(nodes.size());
  std::vector<size_t> incoming(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->kind->role == ModuleKind::Role::kQueue) continue;
    for (const Input* output : nodes[i]->outputs) {
      if (output == nullptr) continue;
      next[i].push_back(index.at(output->node));
      ++incoming[next[i].back()];
    }
  }
  using Candidate = std::pair<bool, size_t>;  // whether it is an NF, index
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> ready;
  const auto add = [&](size_t i) { ready.emplace(is_nf(*nodes[i]->kind), i); };
  for (size_t i = 0; i < nodes.size(); ++i)
    if (incoming[i] == 0) add(i);
  std::vector<Node*> out;
  out.reserve(nodes.size());
  while (!ready.empty()) {
    const size_t i = ready.top().second;
    ready.pop();
    out.push_back(nodes[i]);
    for (const size_t to : next[i])
      if (--incoming[to] == 0) add(to);
  }
  return out;
}

}  // namespace orrery
