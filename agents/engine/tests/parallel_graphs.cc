// SPDX-License-Identifier: Apache-2.0
#include "parallel_graphs.h"

#include <algorithm>

#include "core/parallel.h"

namespace orrery::testing {
namespace {

using nlohmann::json;

bool writes(const Line& line) {
  return std::ranges::any_of(nfs_of(line), &ChainNf::writes);
}

json resizes_at(const Line& line) {
  for (const ChainNf& nf : nfs_of(line))
    if (!nf.resizes_at.is_null()) return nf.resizes_at;
  return nullptr;
}

void add_nf(GraphBuilder& graph, const ChainNf& nf) {
  if (nf.metadata.empty()) {
    graph.module(nf.name, nf.kind, nf.config);
  } else {
    graph.nf(nf.name, nf.kind, nf.config, nf.metadata);
  }
}

class ParallelBuilder {
 public:
  ParallelBuilder(GraphBuilder& graph, const ParallelGraphOptions& options) : graph_(graph), options_(options) {}

  struct End {
    std::string module;
    int gate = 0;
  };

  // `outer`: the merge of the step in a branch of which the line lies; empty: none.
  End add(const Line& line, End from, const std::string& outer) {
    for (const Step& step : line)
      from = step.branches.empty() ? add_nf_of(step, from, outer) : add_step(step, from, outer);
    return from;
  }

 private:
  End add_nf_of(const Step& step, const End& from, const std::string& outer) {
    add_nf(graph_, step.nf);
    link(from, step.nf.name);
    if (!outer.empty()) no_op({step.nf.name, kNfNoOpGate}, outer);
    return {step.nf.name};
  }

  End add_step(const Step& step, const End& from, const std::string& outer) {
    const std::string mirror = "mirror-" + std::to_string(++steps_), merge = "merge-" + std::to_string(steps_);
    json copies = json::array(), branches = json::array();
    for (const Line& branch : step.branches) {
      copies.push_back({{"writes", writes(branch)}});
      branches.push_back({{"writes", writes(branch)}, {"resizes_at", resizes_at(branch)}});
    }
    graph_.module(mirror, "mirror", {{"nested", !outer.empty()}, {"copies", copies}});
    graph_.module(merge, "merge",
                  {{"nested", !outer.empty()},
                   {"branches", branches},
                   {"capacity", options_.capacity},
                   {"timeout_us", options_.timeout_us}});
    link(from, mirror);
    for (size_t i = 0; i < step.branches.size(); ++i) {
      const auto gate = static_cast<int>(i);
      const End begin = queued({mirror, gate}, (steps_ + gate) % options_.workers);
      link(queued(add(step.branches[i], begin, merge), 0), merge, gate);
    }
    if (!outer.empty()) no_op({merge, kMergeNoOpGate}, outer);
    return {merge};
  }

  // Merges run on worker 0.
  void no_op(const End& from, const std::string& merge) { link(queued(from, 0), merge, kNoOpInput); }

  End queued(const End& from, int worker) {
    if (!options_.queues) return from;
    const std::string queue = "queue-" + std::to_string(++queues_);
    graph_.module(queue, "queue", {{"capacity", 16384}}).task(queue, worker);
    link(from, queue);
    return {queue};
  }

  void link(const End& from, const std::string& to, int input = 0) { graph_.link(from.module, from.gate, to, input); }

  GraphBuilder& graph_;
  const ParallelGraphOptions& options_;
  int steps_ = 0;
  int queues_ = 0;
};

}  // namespace

Step one(ChainNf nf) {
  return {.nf = std::move(nf), .branches = {}};
}

Step parallel(std::vector<Line> branches) {
  return {.nf = {}, .branches = std::move(branches)};
}

std::vector<ChainNf> nfs_of(const Line& line) {
  std::vector<ChainNf> out;
  for (const Step& step : line) {
    if (step.branches.empty()) out.push_back(step.nf);
    for (const Line& branch : step.branches)
      for (ChainNf& nf : nfs_of(branch)) out.push_back(std::move(nf));
  }
  return out;
}

void add_sequence(GraphBuilder& graph, const Line& line, const std::string& in, const std::string& out) {
  std::string last = in;
  for (const ChainNf& nf : nfs_of(line)) {
    add_nf(graph, nf);
    graph.link(last, 0, nf.name);
    last = nf.name;
  }
  graph.link(last, 0, out);
}

void add_parallel(GraphBuilder& graph, const Line& line, const std::string& in, const std::string& out,
                  const ParallelGraphOptions& options) {
  const auto end = ParallelBuilder(graph, options).add(line, {in}, "");
  graph.link(end.module, end.gate, out);
}

}  // namespace orrery::testing
