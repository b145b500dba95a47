// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/batch.h"
#include "core/graph_spec.h"
#include "core/module.h"
#include "core/port.h"
#include "core/schedule/schedule.h"

namespace orrery {

struct Node;

// An input of a module in its place, where packets wait for their turn in the pass: the first batch, which changes
// hands with that of the module before where it can (Pass::emit_all), and what is beyond it, in order; only duplicators
// send that much. Used by its one worker only, empty between passes.
struct Input {
  Node* node = nullptr;
  uint8_t index = 0;  // among the module's inputs
  uint32_t turn = 0;  // position in Graph::by_turn
  std::unique_ptr<Batch> first = std::make_unique<Batch>();
  std::vector<rte_mbuf*> more;
};

// Passes of full batches of a task of which only the whole was timed, since the last one that timed each module.
struct Unmeasured {
  uint32_t passes = 0;
  uint64_t cycles = 0;
  uint64_t until_ns = 0;  // CLOCK_MONOTONIC: the first full one from then on times each module
};

// A module in its place.
struct Node {
  std::string name;
  const ModuleKind* kind = nullptr;
  std::unique_ptr<Module> module;
  bool takes_common_meta = false;  // of the module
  std::vector<Input*> outputs;     // by gate, all that the kind has; null where none leads
  std::vector<Input> inputs;
  uint32_t rank = 0;      // position in Graph::by_rank
  Unmeasured unmeasured;  // of a task; used by its one worker only
};

// Where a worker puts packets into a queue that another worker empties. Its counters are part of the queue's.
struct Inlet {
  std::unique_ptr<Node> node;
  Node* queue;
  uint32_t worker;
};

// What one worker runs.
struct Share {
  std::vector<Node*> tasks;
  std::vector<Node*> timed;            // modules of kinds with a timer
  std::unique_ptr<Schedule> schedule;  // over the tasks
};

// The data plane as it runs: modules joined by gates, and what each worker runs of it.
struct Graph {
  uint64_t generation = 0;
  std::vector<std::shared_ptr<Port>> ports;
  std::vector<std::unique_ptr<Node>> nodes;  // in the order of the request
  std::vector<Inlet> inlets;
  std::map<std::string, Node*, std::less<>> by_name;
  std::vector<Node*> by_rank;   // in the order in which a pass runs them
  std::vector<Input*> by_turn;  // their inputs, in that order
  std::vector<Share> shares;    // by worker
};

// Makes the graph beside `old`: its ports are those of `old` where they are the same and still alive, and otherwise not
// open yet. Throws EngineError. `wakers`: one a worker.
std::unique_ptr<Graph> build_graph(const GraphSpec& spec, const Graph* old, rte_mempool* pool, StreamLog& stream_log,
                                   const std::vector<Waker*>& wakers);

// Charges modules for the passes of which only the whole was timed, in proportion to what each has used so far: no
// later pass stands for them. Precondition: workers parked.
void charge_unmeasured(Graph& graph);

// Adds what inlets have counted to the counters of their queues. Precondition: workers parked.
void absorb_inlets(Graph& graph);

// The place of the module whose state and counters one of that name and kind takes over; nullptr when there is none.
Node* predecessor(const Graph& old, std::string_view name, const ModuleKind& kind);

}  // namespace orrery
