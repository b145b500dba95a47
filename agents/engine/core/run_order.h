// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/graph.h"

namespace orrery {

// All nodes of the graph, inlets too, in the order in which a pass runs them: each after those that lead to it (an edge
// out of a queue does not count: there another pass begins), and NFs as late as that allows. So what a pass hands over,
// to another worker or another engine, is worked on while its own NFs run. Precondition: no cycles.
std::vector<Node*> run_order(const Graph& graph);

}  // namespace orrery
