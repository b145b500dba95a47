// SPDX-License-Identifier: Apache-2.0
#include "core/engine.h"

#include <rte_cycles.h>
#include <rte_version.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/module_kinds.h"
#include "core/splitter.h"
#include "support/clock.h"
#include "support/epoch.h"

namespace orrery {

namespace {

// Packets of a splitter wait no longer than this for a part of its work, to the time of one step.
constexpr uint64_t kPauseNs = 50'000;
constexpr size_t kStepRows = 64;

uint64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// FNV-1a of the canonical text, without the generation: two graphs that differ in nothing else run alike.
std::string digest_of(nlohmann::json graph) {
  graph.erase("generation");
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : graph.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// Counters of one module as they were at one moment, to be written down after the workers run again.
struct ModuleReading {
  const Node* node;
  uint64_t packets_in, packets_out, bytes_in, bytes_out, cycles;
  std::vector<uint64_t> drops;
  std::optional<uint32_t> queue_depth;
  std::optional<Histogram> latency;
  std::optional<SplitFigures> split;
};

ModuleReading read_module(const Node& node, uint64_t now_ns) {
  const ModuleCounters& c = node.module->counters;
  ModuleReading out{&node,        c.packets_in, c.packets_out, c.bytes_in,
                    c.bytes_out,  c.cycles,     c.drops,       node.module->queue_depth(),
                    std::nullopt, std::nullopt};
  if (c.latency != nullptr) out.latency = *c.latency;
  if (Splitter* splitter = node.module->splitter(); splitter != nullptr) {
    splitter->expire(now_ns);
    splitter->read_figures(out.split.emplace());
  }
  return out;
}

nlohmann::json to_json(const ModuleReading& m) {
  nlohmann::json drops = nlohmann::json::object();
  for (size_t i = 0; i < m.drops.size(); ++i)
    if (m.drops[i] != 0) drops[m.node->module->drop_reasons()[i]] = m.drops[i];
  nlohmann::json out = {
      {"name", m.node->name},         {"kind", m.node->kind->name}, {"packets_in", m.packets_in},
      {"packets_out", m.packets_out}, {"bytes_in", m.bytes_in},     {"bytes_out", m.bytes_out},
      {"drops", std::move(drops)},    {"cycles", m.cycles},         {"queue_depth", nullptr},
      {"latency_ns", nullptr},
  };
  if (m.queue_depth) out["queue_depth"] = *m.queue_depth;
  if (m.latency) out["latency_ns"] = m.latency->sparse();
  if (m.split) out["split"] = to_json(*m.split);
  return out;
}

bool leads_to_same(const Input* a, const Input* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->node->name == b->node->name && a->index == b->index;
}

const Input* output_at(const Node& node, size_t gate) {
  return gate < node.outputs.size() ? node.outputs[gate] : nullptr;
}

// What packets reach behind the queues at the start of a path. Whether there is one depends on which workers send
// there, so that it is no other place. An inlet has the name of its queue.
const Input* behind_queues(const Graph& graph, const Input* input) {
  for (size_t queues = 0; input != nullptr && queues < graph.nodes.size(); ++queues) {
    if (input->node->kind->role != ModuleKind::Role::kQueue) break;
    const Node& queue = *graph.by_name.at(input->node->name);
    if (queue.outputs.size() != 1 || queue.outputs.front() == nullptr) break;
    input = queue.outputs.front();
  }
  return input;
}

std::vector<const Input*> places_behind(const Graph& graph, const Node& splitter) {
  std::vector<const Input*> places(kMaxGates, nullptr);
  for (size_t gate = 0; gate < splitter.outputs.size(); ++gate)
    places[gate] = behind_queues(graph, splitter.outputs[gate]);
  return places;
}

GateMap gate_map(const std::vector<const Input*>& from, const std::vector<const Input*>& to) {
  GateMap map(kMaxGates, kGateGone);
  for (size_t gate = 0; gate < map.size(); ++gate) {
    const Input* old = from[gate];
    if (leads_to_same(old, to[gate])) {
      map[gate] = static_cast<uint16_t>(gate);
    } else if (old != nullptr) {
      const auto found = std::ranges::find_if(to, [&](const Input* place) { return leads_to_same(old, place); });
      if (found != to.end()) map[gate] = static_cast<uint16_t>(found - to.begin());
    }
  }
  return map;
}

nlohmann::json to_json(const std::vector<ScheduleReading>& tree) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [node, total] : tree)
    out.push_back({{"id", node->id()},
                   {"cycles", total.cycles},
                   {"packets", total.packets},
                   {"bytes", total.bytes},
                   {"runs", total.runs},
                   {"empty_runs", total.empty_runs},
                   {"empty_cycles", total.empty_cycles}});
  return out;
}

}  // namespace

// Keeps all workers parked for as long as it lives.
class Engine::Parked {
 public:
  explicit Parked(Engine& engine) : engine_(engine) {
    for (auto& worker : engine_.workers_) worker->park();
  }
  ~Parked() {
    for (auto& worker : engine_.workers_) worker->resume();
  }
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;

 private:
  Engine& engine_;
};

Engine::Engine(const EngineOptions& options, const Eal& eal)
    : eal_(eal), more_kinds_(options.more_kinds), epoch_(random_epoch()), graph_(std::make_unique<Graph>()) {
  for (uint32_t i = 0; i < options.workers; ++i)
    workers_.push_back(std::make_unique<Worker>(i, options.cpus.empty() ? -1 : options.cpus[i]));
}

Engine::~Engine() {
  workers_.clear();
}

void Engine::apply(const nlohmann::json& params) {
  const GraphSpec spec = parse_graph(params, static_cast<uint32_t>(workers_.size()), more_kinds_);
  std::vector<Waker*> wakers;
  wakers.reserve(workers_.size());
  for (auto& worker : workers_) wakers.push_back(&worker->waker());
  std::unique_ptr<Graph> next = build_graph(spec, graph_.get(), eal_.pool(), stream_log_, wakers);
  for (size_t i = 0; i < next->ports.size(); ++i) {
    const bool kept = std::ranges::find(graph_->ports, next->ports[i]) != graph_->ports.end();
    if (!kept) next->ports[i]->open(eal_.pool(), "/ports/" + std::to_string(i));
  }
  hand_over(*next);
  // Frees what the new graph does not use: ports that are gone, packets in queues that are gone.
  graph_.swap(next);
  graph_params_ = params;
  graph_digest_ = digest_of(graph_params_);
}

void Engine::hand_over(Graph& next) {
  struct Pair {
    Module* from;
    Module* to;
  };
  std::vector<Pair> kept;
  for (const auto& node : next.nodes) {
    const Node* from = predecessor(*graph_, node->name, *node->kind);
    if (from == nullptr) continue;
    kept.push_back({from->module.get(), node->module.get()});
    if (node->module->splitter() != nullptr)
      node->module->map_gates(gate_map(places_behind(*graph_, *from), places_behind(next, *node)));
  }
  for (const Pair& pair : kept) pair.to->prepare_adopt(*pair.from);
  {
    Parked parked(*this);
    charge_unmeasured(*graph_);
    absorb_inlets(*graph_);
    for (const Pair& pair : kept) pair.to->adopt(*pair.from);
    for (const Share& share : next.shares) share.schedule->adopt();
    for (auto& worker : workers_) worker->set_graph(&next);
  }
  for (const Pair& pair : kept) {
    pair.to->settle();
    if (Splitter* splitter = pair.to->splitter(); splitter != nullptr) settle(*splitter);
  }
}

nlohmann::json Engine::describe() const {
  return {
      {"version", kEngineVersion},
      {"dpdk", rte_version()},
      {"pid", getpid()},
      {"epoch", epoch_},
      {"memory", eal_.hugepages() ? "hugepages" : "no-huge"},
      {"workers", workers_.size()},
      {"generation", graph_->generation},
      {"modules", module_kind_names()},
  };
}

nlohmann::json Engine::stats() {
  std::vector<ModuleReading> readings;
  readings.reserve(graph_->nodes.size());
  std::vector<uint64_t> busy;
  std::vector<std::vector<ScheduleReading>> trees;
  uint64_t t_ns = 0;
  {
    Parked parked(*this);
    t_ns = monotonic_ns();
    absorb_inlets(*graph_);
    for (const auto& node : graph_->nodes) readings.push_back(read_module(*node, t_ns));
    for (const auto& worker : workers_) busy.push_back(worker->busy_cycles());
    for (const Share& share : graph_->shares) trees.push_back(share.schedule->read());
  }
  nlohmann::json workers = nlohmann::json::array();
  for (size_t i = 0; i < workers_.size(); ++i)
    workers.push_back({{"worker", i}, {"busy_cycles", busy[i]}, {"cpu_ns", workers_[i]->cpu_ns()}});
  nlohmann::json modules = nlohmann::json::array();
  for (const ModuleReading& reading : readings) modules.push_back(to_json(reading));
  nlohmann::json schedulers = nlohmann::json::array();
  for (size_t i = 0; i < trees.size(); ++i)
    if (!trees[i].empty()) schedulers.push_back({{"worker", i}, {"nodes", to_json(trees[i])}});
  nlohmann::json ports = nlohmann::json::array();
  for (const auto& port : graph_->ports) {
    const PortStats s = port->stats();
    ports.push_back({{"name", port->spec().name},
                     {"up", s.up},
                     {"rx_packets", s.rx_packets},
                     {"rx_bytes", s.rx_bytes},
                     {"rx_dropped", s.rx_dropped},
                     {"tx_packets", s.tx_packets},
                     {"tx_bytes", s.tx_bytes},
                     {"tx_dropped", s.tx_dropped}});
  }
  return {
      {"epoch", epoch_},
      {"t_ns", t_ns},
      {"generation", graph_->generation},
      {"graph_digest", graph_digest_},
      {"cycles_per_second", static_cast<double>(rte_get_tsc_hz())},
      {"workers", std::move(workers)},
      {"modules", std::move(modules)},
      {"schedulers", std::move(schedulers)},
      {"ports", std::move(ports)},
  };
}

Node& Engine::node_of(const std::string& module) {
  const auto it = graph_->by_name.find(module);
  if (it == graph_->by_name.end()) throw EngineError("no-such-module", "/module", "there is no module " + module);
  return *it->second;
}

NfCore& Engine::nf_of(const std::string& module) {
  const Node& node = node_of(module);
  if (NfCore* nf = node.module->nf(); nf != nullptr) return *nf;
  throw EngineError("bad-request", "/module", module + " is a " + std::string(node.kind->name) + ", not an NF");
}

Splitter& Engine::splitter_of(const std::string& module) {
  const Node& node = node_of(module);
  if (Splitter* splitter = node.module->splitter(); splitter != nullptr) return *splitter;
  throw EngineError("bad-request", "/module",
                    module + " is a " + std::string(node.kind->name) + ", which does not split flows");
}

// Packets flow between the slices.
template <class Slice>
void Engine::pause_for_each(Slice&& slice) {
  pauses_ = {};
  for (bool more = true; more; ++pauses_.count) {
    const uint64_t began_ns = thread_cpu_ns();
    {
      Parked parked(*this);
      more = slice();
    }
    pauses_.longest_cpu_ns = std::max(pauses_.longest_cpu_ns, thread_cpu_ns() - began_ns);
  }
}

// As many steps a pause as fit into its time, however long the rows of each take.
template <class Step>
void Engine::pause_for_steps(Step&& step) {
  pause_for_each([&] {
    const uint64_t until_ns = monotonic_ns() + kPauseNs;
    do {
      if (!step(kStepRows)) return false;
    } while (monotonic_ns() < until_ns);
    return true;
  });
}

nlohmann::json Engine::copied(StateCopy& copy) {
  pause_for_each([&] { return copy.copy(kSliceRows); });
  return copy.finish(RowForm::kBinary);
}

nlohmann::json Engine::get_state(const std::string& module, size_t limit) {
  return copied(*nf_of(module).copy_state(limit));
}

nlohmann::json Engine::export_state(const std::string& module) {
  return copied(*nf_of(module).copy_flows());
}

void Engine::import_state(const std::string& module, const nlohmann::json& state) {
  const nlohmann::json object{{"state", state}};
  JsonFields params(object, "", "bad-request");
  move_flows(module, params, orrery::import_state);
}

nlohmann::json Engine::move_flows(const std::string& module, JsonFields& params, FlowRequest request) {
  return request(nf_of(module), params, [this](const std::function<bool()>& slice) { pause_for_each(slice); });
}

void Engine::settle(Splitter& splitter) {
  pause_for_steps([&](size_t rows) { return splitter.settle(rows); });
}

// Tells the digest of the graph with what has changed since it was applied.
template <class Change>
nlohmann::json Engine::now_has(const std::string& module, Change&& change) {
  for (nlohmann::json& entry : graph_params_["modules"])
    if (entry["name"] == module) change(entry["config"]);
  graph_digest_ = digest_of(graph_params_);
  return {{"graph_digest", graph_digest_}};
}

nlohmann::json Engine::set_split(const std::string& module, const nlohmann::json& ranges, bool keep_flows) {
  Splitter& splitter = splitter_of(module);
  const std::unique_ptr<SplitChange> change = splitter.prepare(ranges, keep_flows);
  const Node& node = node_of(module);
  for (size_t i = 0; i < ranges.size(); ++i)
    if (output_at(node, ranges[i]["gate"].get<size_t>()) == nullptr)
      throw EngineError("invalid-config", "/ranges/" + std::to_string(i) + "/gate", "this gate has no link");
  {
    Parked parked(*this);
    splitter.take(*change);
  }
  settle(splitter);
  return now_has(module, [&](nlohmann::json& config) { config["ranges"] = ranges; });
}

nlohmann::json Engine::configure(const std::string& module, const nlohmann::json& config) {
  nf_of(module);
  Module& nf = *node_of(module).module;
  const std::unique_ptr<NextConfig> next = nf.prepare_config(config);
  nlohmann::json copy = config;
  {
    Parked parked(*this);
    nf.take_config(*next, copy);
  }
  return now_has(module, [&](nlohmann::json& had) { had = config; });
}

nlohmann::json Engine::hold_flows(const std::string& module, JsonFields& params) {
  Splitter& splitter = splitter_of(module);
  std::unique_ptr<SplitHold> hold = splitter.prepare_hold(params);
  if (output_at(node_of(module), hold->to()) == nullptr)
    throw EngineError("invalid-config", "/to", "this gate has no link");
  bool taken = false;
  {
    Parked parked(*this);
    taken = splitter.hold(hold, monotonic_ns());
  }
  if (!taken) throw EngineError("bad-request", "/module", "packets of other flows wait there now");
  return nlohmann::json::object();
}

nlohmann::json Engine::end_hold(const std::string& module, bool steer) {
  Splitter& splitter = splitter_of(module);
  const char* refusal = nullptr;
  {
    Parked parked(*this);
    refusal = splitter.end_hold(steer);
  }
  if (refusal != nullptr) throw EngineError("bad-request", "/module", refusal);
  HoldFigures figures;
  pause_for_steps([&](size_t rows) { return splitter.steer_held(rows, figures); });
  return {{"flows", figures.flows}, {"packets", figures.packets}, {"table_full", figures.table_full}};
}

nlohmann::json Engine::get_split(const std::string& module, size_t limit) {
  const std::unique_ptr<StateCopy> copy = splitter_of(module).copy_split(limit);
  pause_for_steps([&](size_t rows) { return copy->copy(rows); });
  return copy->finish(RowForm::kBinary);
}

}  // namespace orrery
