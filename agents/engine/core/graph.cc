// SPDX-License-Identifier: Apache-2.0
#include "core/graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/run_order.h"
#include "core/schedule/build_schedule.h"
#include "core/worker.h"

namespace orrery {

namespace {

std::shared_ptr<Port> same_port(const Graph* old, const PortSpec& spec) {
  if (old == nullptr) return nullptr;
  for (const std::shared_ptr<Port>& port : old->ports)
    if (port->spec() == spec && port->alive()) return port;
  return nullptr;
}

// Finds the port that a module's config names, and sees to it that no two modules receive from it or send to it.
class PortFinder {
 public:
  explicit PortFinder(const Graph& graph) : graph_(graph) {}

  Port* find(const ModuleSpec& module, const std::string& pointer) {
    if (module.kind->port_use == ModuleKind::PortUse::kNone) return nullptr;
    const auto it = module.config.find("port");
    if (it == module.config.end() || !it->is_string())
      throw EngineError("invalid-config", pointer + "/port", "must be the name of a port");
    for (const std::shared_ptr<Port>& port : graph_.ports) {
      if (port->spec().name != it->get_ref<const std::string&>()) continue;
      if (!used_.emplace(port.get(), module.kind->port_use).second)
        throw EngineError("invalid-graph", pointer + "/port",
                          "another " + std::string(module.kind->name) + " uses the port " + port->spec().name);
      return port.get();
    }
    throw EngineError("invalid-graph", pointer + "/port", "there is no port " + it->get<std::string>());
  }

 private:
  const Graph& graph_;
  std::set<std::pair<const Port*, ModuleKind::PortUse>> used_;
};

std::unique_ptr<Node> make_node(const std::string& name, const ModuleKind& kind) {
  auto node = std::make_unique<Node>();
  node->name = name;
  node->kind = &kind;
  node->outputs.resize(kind.gates);
  node->inputs.resize(kind.inputs);
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    node->inputs[i].node = node.get();
    node->inputs[i].index = static_cast<uint8_t>(i);
  }
  return node;
}

// Where packets on the link go in: at the module itself, or at the inlet of the worker that runs the link's start.
Node* entry(Graph& graph, const GraphSpec& spec, const LinkSpec& link, const std::vector<Waker*>& wakers) {
  Node* to = graph.nodes[link.to].get();
  const uint32_t worker = spec.workers[link.from];
  const uint32_t consumer = spec.workers[link.to];
  if (to->kind->role != ModuleKind::Role::kQueue || worker == kNoWorker || worker == consumer) return to;
  for (const Inlet& inlet : graph.inlets)
    if (inlet.queue == to && inlet.worker == worker) return inlet.node.get();
  std::unique_ptr<Node> node = make_node(to->name, *to->kind);
  node->module = static_cast<TaskModule&>(*to->module).make_inlet(*wakers[consumer]);
  graph.inlets.push_back({std::move(node), to, worker});
  return graph.inlets.back().node.get();
}

// What a pass of the task may run.
std::vector<Node*> modules_of(const Graph& graph, Node& task) {
  std::vector<Node*> found{&task};
  std::vector<bool> seen(graph.by_rank.size());
  for (size_t i = 0; i < found.size(); ++i) {
    // What is in a queue goes on in another pass.
    if (i > 0 && found[i]->kind->role == ModuleKind::Role::kQueue) continue;
    for (const Input* output : found[i]->outputs) {
      if (output == nullptr || seen[output->node->rank]) continue;
      seen[output->node->rank] = true;
      found.push_back(output->node);
    }
  }
  return found;
}

void charge(const std::vector<Node*>& modules, uint64_t cycles) {
  uint64_t used = 0;
  for (const Node* node : modules) used += node->module->counters.cycles;
  const double ratio = static_cast<double>(cycles) / static_cast<double>(std::max<uint64_t>(used, 1));
  uint64_t left = cycles;
  for (Node* node : modules) {
    uint64_t& counter = node->module->counters.cycles;
    const auto share = std::min(left, static_cast<uint64_t>(ratio * static_cast<double>(counter)));
    counter += share;
    left -= share;
  }
  modules.front()->module->counters.cycles += left;
}

}  // namespace

std::unique_ptr<Graph> build_graph(const GraphSpec& spec, const Graph* old, rte_mempool* pool, StreamLog& stream_log,
                                   const std::vector<Waker*>& wakers) {
  auto graph = std::make_unique<Graph>();
  graph->generation = spec.generation;
  for (const PortSpec& port : spec.ports) {
    std::shared_ptr<Port> kept = same_port(old, port);
    graph->ports.push_back(kept != nullptr ? kept : std::make_shared<Port>(port));
  }

  PortFinder ports(*graph);
  for (size_t i = 0; i < spec.modules.size(); ++i) {
    const ModuleSpec& module = spec.modules[i];
    const std::string pointer = "/modules/" + std::to_string(i) + "/config";
    std::unique_ptr<Node> node = make_node(module.name, *module.kind);
    const Node* former = old == nullptr ? nullptr : predecessor(*old, module.name, *module.kind);
    const ModuleContext context{
        .config = module.config,
        .pointer = pointer,
        .metadata = module.metadata,
        .pool = pool,
        .stream_log = stream_log,
        .port = ports.find(module, pointer),
        .old = former == nullptr ? nullptr : former->module.get(),
    };
    node->module = module.kind->make(context);
    node->takes_common_meta = node->module->takes_common_meta();
    graph->by_name.emplace(node->name, node.get());
    graph->nodes.push_back(std::move(node));
  }

  for (const LinkSpec& link : spec.links) {
    Node* to = entry(*graph, spec, link, wakers);
    graph->nodes[link.from]->outputs[link.gate] = &to->inputs[link.input];
  }
  graph->by_rank = run_order(*graph);
  uint32_t rank = 0;
  for (Node* node : graph->by_rank) {
    node->rank = rank++;
    for (Input& input : node->inputs) {
      input.turn = static_cast<uint32_t>(graph->by_turn.size());
      graph->by_turn.push_back(&input);
    }
  }
  graph->shares.resize(wakers.size());
  for (const TaskSpec& task : spec.tasks) graph->shares[task.worker].tasks.push_back(graph->nodes[task.module].get());
  for (size_t m = 0; m < spec.modules.size(); ++m)
    if (spec.modules[m].kind->timed && spec.workers[m] != kNoWorker)
      graph->shares[spec.workers[m]].timed.push_back(graph->nodes[m].get());
  for (uint32_t w = 0; w < graph->shares.size(); ++w) {
    const auto tree = std::ranges::find(spec.schedulers, w, &ScheduleTreeSpec::worker);
    Share& share = graph->shares[w];
    share.schedule = build_schedule(tree == spec.schedulers.end() ? nullptr : &*tree, share.tasks, graph->nodes);
    if (old != nullptr && w < old->shares.size()) share.schedule->prepare_adopt(*old->shares[w].schedule);
  }
  return graph;
}

void charge_unmeasured(Graph& graph) {
  for (const Share& share : graph.shares)
    for (Node* task : share.tasks)
      if (const uint64_t cycles = std::exchange(task->unmeasured, {}).cycles; cycles != 0)
        charge(modules_of(graph, *task), cycles);
}

void absorb_inlets(Graph& graph) {
  for (const Inlet& inlet : graph.inlets) {
    ModuleCounters& from = inlet.node->module->counters;
    inlet.queue->module->counters.add(from);
    from = ModuleCounters{};
    from.drops.assign(inlet.node->module->drop_reasons().size(), 0);
  }
}

Node* predecessor(const Graph& old, std::string_view name, const ModuleKind& kind) {
  const auto it = old.by_name.find(name);
  return it == old.by_name.end() || it->second->kind != &kind ? nullptr : it->second;
}

}  // namespace orrery
