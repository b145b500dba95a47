// SPDX-License-Identifier: Apache-2.0
#include "core/engine.h"

#include <rte_cycles.h>
#include <rte_version.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "core/module_kinds.h"
#include "support/clock.h"

namespace orrery {

namespace {

std::string random_epoch() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string out;
  for (int i = 0; i < 16; ++i) out += kDigits[random() % 16];
  return out;
}

uint64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

// FNV-1a of the canonical text.
std::string digest_of(const nlohmann::json& graph) {
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
};

ModuleReading read_module(const Node& node) {
  const ModuleCounters& c = node.module->counters;
  ModuleReading out{&node,       c.packets_in, c.packets_out, c.bytes_in,
                    c.bytes_out, c.cycles,     c.drops,       node.module->queue_depth(),
                    std::nullopt};
  if (c.latency != nullptr) out.latency = *c.latency;
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
  std::unique_ptr<Graph> next = build_graph(spec, graph_.get(), eal_.pool(), wakers);
  for (size_t i = 0; i < next->ports.size(); ++i) {
    const bool kept = std::ranges::find(graph_->ports, next->ports[i]) != graph_->ports.end();
    if (!kept) next->ports[i]->open(eal_.pool(), "/ports/" + std::to_string(i));
  }
  hand_over(*next);
  // Frees what the new graph does not use: ports that are gone, packets in queues that are gone.
  graph_.swap(next);
  graph_digest_ = digest_of(params);
}

void Engine::hand_over(Graph& next) {
  struct Pair {
    Module* from;
    Module* to;
  };
  std::vector<Pair> kept;
  for (size_t i = 0; i < next.nodes.size(); ++i) {
    Node& node = *next.nodes[i];
    if (Module* from = predecessor(*graph_, node.name, *node.kind); from != nullptr)
      kept.push_back({from, node.module.get()});
  }
  for (const Pair& pair : kept) pair.to->prepare_adopt(*pair.from);
  {
    Parked parked(*this);
    absorb_inlets(*graph_);
    for (const Pair& pair : kept) pair.to->adopt(*pair.from);
    for (auto& worker : workers_) worker->set_graph(&next);
  }
  for (const Pair& pair : kept) pair.to->settle();
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
  uint64_t t_ns = 0;
  {
    Parked parked(*this);
    t_ns = monotonic_ns();
    absorb_inlets(*graph_);
    for (const auto& node : graph_->nodes) readings.push_back(read_module(*node));
    for (const auto& worker : workers_) busy.push_back(worker->busy_cycles());
  }
  nlohmann::json workers = nlohmann::json::array();
  for (size_t i = 0; i < workers_.size(); ++i)
    workers.push_back({{"worker", i}, {"busy_cycles", busy[i]}, {"cpu_ns", workers_[i]->cpu_ns()}});
  nlohmann::json modules = nlohmann::json::array();
  for (const ModuleReading& reading : readings) modules.push_back(to_json(reading));
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
      {"ports", std::move(ports)},
  };
}

NfCore& Engine::nf_of(const std::string& module) {
  const auto it = graph_->by_name.find(module);
  if (it == graph_->by_name.end()) throw EngineError("no-such-module", "/module", "there is no module " + module);
  NfCore* nf = it->second->module->nf();
  if (nf == nullptr)
    throw EngineError("bad-request", "/module",
                      module + " is a " + std::string(it->second->kind->name) + ", not an NF");
  return *nf;
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
  NfCore& nf = nf_of(module);
  std::unique_ptr<StateImport> import;
  try {
    import = nf.prepare_import(state);
  } catch (const ConfigError& error) {
    throw EngineError("invalid-config", "/state" + error.pointer, error.what());
  }
  pause_for_each([&] { return import->take(kImportSliceRows); });
}

}  // namespace orrery
