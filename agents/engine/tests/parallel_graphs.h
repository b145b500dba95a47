// SPDX-License-Identifier: Apache-2.0
// Chains of NFs for tests, and the graphs that run them in sequence and in parallel.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "engine_fixture.h"

namespace orrery::testing {

// An NF of a chain, or a module of the tests in its place.
struct ChainNf {
  std::string name;
  std::string kind;
  nlohmann::json config = nlohmann::json::object();
  nlohmann::json metadata = nlohmann::json::object();
  bool writes = false;
  nlohmann::json resizes_at = nullptr;
};

struct Step;
using Line = std::vector<Step>;

// An NF, or branches side by side; an empty branch goes straight from mirror to merge.
struct Step {
  ChainNf nf;
  std::vector<Line> branches;
};

Step one(ChainNf nf);
Step parallel(std::vector<Line> branches);

// The NFs in the order in which they run when they run one after the other.
std::vector<ChainNf> nfs_of(const Line& line);

struct ParallelGraphOptions {
  int workers = 1;
  bool queues = false;  // where a branch begins and before each input of a merge
  int capacity = 4096;
  int timeout_us = 10'000'000;
};

// `in` leads to `out`, two modules that the graph has already.
void add_sequence(GraphBuilder& graph, const Line& line, const std::string& in, const std::string& out);
void add_parallel(GraphBuilder& graph, const Line& line, const std::string& in, const std::string& out,
                  const ParallelGraphOptions& options = {});

}  // namespace orrery::testing
