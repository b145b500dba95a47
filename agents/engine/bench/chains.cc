// SPDX-License-Identifier: Apache-2.0
#include "chains.h"

#include <rte_cycles.h>

#include <map>
#include <string>
#include <vector>

#include "core/parallel.h"
#include "cycles.h"
#include "graphs.h"
#include "loads.h"
#include "profile_modules.h"

namespace orrery::bench {
namespace {

using nlohmann::json;

constexpr int kChainRounds = 5;
constexpr uint16_t kShort = 60;
// With room for the tunnel's headers in an MTU of 1,500 bytes.
constexpr uint16_t kLong = 1400;
constexpr int kGapUs = 500;
constexpr uint64_t kLatencies = uint64_t{4000} * kBatchSize;

struct ChainNf {
  const char* kind;
  bool writes = false;
  uint32_t packet_us = 0;  // of a busy loop
};

// Steps of branches of one NF each, one after the other.
struct Chain {
  const char* name;
  std::vector<std::vector<ChainNf>> steps;
};

// As in Table 6.1. Its chains 1, 2 and 4 put the NAT before the firewall, which reads what the NAT writes: here the NAT
// comes last, and is static, so that parallel and sequence have one result.
const std::vector<Chain>& table_6_1() {
  static const std::vector<Chain> chains{
      {"1, 2: (IDS, FW, NAT)", {{{"ids"}, {"firewall"}, {"static-nat", true}}}},
      {"3: VPN, (Monitor, FW), LB",
       {{{"crypto-tunnel", true}}, {{"monitor"}, {"firewall"}}, {{"load-balancer", true}}}},
      {"4: (FW, IDS, NAT), LB", {{{"firewall"}, {"ids"}, {"static-nat", true}}, {{"load-balancer", true}}}},
  };
  return chains;
}

// From which cost of an NF on it pays to run two beside each other.
const std::vector<Chain>& heavier() {
  static const std::vector<Chain> chains = [] {
    std::vector<Chain> out;
    for (const auto& [name, packet_us] : {std::pair("two NFs of 1 us", 1u), {"two NFs of 4 us", 4u}}) {
      const ChainNf nf{"busy-loop", false, packet_us};
      out.push_back({name, {{nf, nf}}});
    }
    return out;
  }();
  return chains;
}

std::vector<Chain> compared() {
  std::vector<Chain> out = table_6_1();
  out.insert(out.end(), heavier().begin(), heavier().end());
  return out;
}

enum class Form : uint8_t { kSequence, kParallel, kParallelTwoWorkers };

// The graph of a chain from a source to a sink.
class Builder {
 public:
  Builder(uint16_t bytes, int gap_us) {
    modules_.push_back(module("source", "full_source", {{"bytes", bytes}, {"text", true}, {"gap_us", gap_us}}));
    tasks_.push_back(task("source"));
  }

  void nf(const ChainNf& nf) { then(add_nf(nf)); }

  void parallel(const std::vector<ChainNf>& branches, bool two_workers) {
    const std::string mirror = fresh("mirror"), merge = fresh("merge");
    json copies = json::array(), inputs = json::array();
    for (const ChainNf& branch : branches) {
      copies.push_back({{"writes", branch.writes}});
      inputs.push_back({{"writes", branch.writes}, {"resizes_at", nullptr}});
    }
    modules_.push_back(module(mirror, "mirror", {{"nested", false}, {"copies", copies}}));
    modules_.push_back(module(merge, "merge", {{"nested", false}, {"branches", inputs}}));
    then(mirror);
    for (size_t i = 0; i < branches.size(); ++i) {
      // The first branch stays with mirror and merge, the others go to the other worker and come back.
      const bool away = two_workers && i > 0;
      const auto gate = static_cast<int>(i);
      const std::string name = add_nf(branches[i]);
      std::string from = mirror;
      int from_gate = gate;
      if (away) {
        from = queue(1);
        links_.push_back(link(mirror, from, gate));
        from_gate = 0;
      }
      links_.push_back(link(from, name, from_gate));
      to_merge(name, 0, merge, gate, away);
      to_merge(name, kNfNoOpGate, merge, kNoOpInput, away);
    }
    last_ = merge;
  }

  // Ends at an exit, whose histogram has the latencies.
  json end(bool two_workers) {
    modules_.push_back(
        module("exit", "exit", {{"exit_id", "x"}, {"dst_mac", "02:00:00:00:00:01"}, {"src_mac", "02:00:00:00:00:02"}}));
    then("exit");
    modules_.push_back(module("sink", "sink"));
    then("sink");
    json ports = json::array();
    if (two_workers) {
      // A port that can only be polled keeps its worker awake.
      for (int worker : {0, 1}) {
        const std::string name = "awake" + std::to_string(worker);
        ports.push_back({{"name", name}, {"driver", "ring"}});
        modules_.push_back(module(name, "port_in", {{"port", name}}));
        tasks_.push_back({{"module", name}, {"worker", worker}});
      }
    }
    return graph(std::move(ports), std::move(modules_), std::move(links_), std::move(tasks_));
  }

 private:
  std::string fresh(const std::string& kind) { return kind + std::to_string(++names_); }

  std::string add_nf(const ChainNf& nf) {
    std::string name = fresh("nf");
    json config = load_of(nf.kind);
    if (nf.packet_us != 0) config["packet_us"] = nf.packet_us;
    modules_.push_back(module(name, nf.kind, config));
    return name;
  }

  std::string queue(int worker) {
    std::string name = fresh("queue");
    modules_.push_back(module(name, "queue", {{"capacity", 4096}}));
    tasks_.push_back({{"module", name}, {"worker", worker}});
    return name;
  }

  void then(const std::string& name) {
    links_.push_back(link(last_, name));
    last_ = name;
  }

  void to_merge(const std::string& from, int gate, const std::string& merge, int input, bool away) {
    if (!away) {
      links_.push_back(link(from, merge, gate, input));
      return;
    }
    const std::string back = queue(0);
    links_.push_back(link(from, back, gate));
    links_.push_back(link(back, merge, 0, input));
  }

  json modules_ = json::array(), links_ = json::array(), tasks_ = json::array();
  std::string last_ = "source";
  int names_ = 0;
};

json graph_of(const Chain& chain, Form form, uint16_t bytes, int gap_us) {
  Builder builder(bytes, gap_us);
  const bool two = form == Form::kParallelTwoWorkers;
  for (const auto& step : chain.steps) {
    if (form == Form::kSequence || step.size() == 1) {
      for (const ChainNf& nf : step) builder.nf(nf);
    } else {
      builder.parallel(step, two);
    }
  }
  return builder.end(two || gap_us != 0);
}

Chain sequence(const char* name, const std::vector<const char*>& kinds) {
  Chain out{name, {}};
  for (const char* kind : kinds) out.steps.push_back({{kind}});
  return out;
}

uint64_t percentile_ns(const json& sparse, double q) {
  uint64_t all = 0, seen = 0;
  for (const json& entry : sparse) all += entry[1].get<uint64_t>();
  for (const json& entry : sparse) {
    seen += entry[1].get<uint64_t>();
    if (static_cast<double>(seen) >= q * static_cast<double>(all))
      return Histogram::bucket_lower_ns(entry[0].get<uint32_t>());
  }
  return 0;
}

json latency_of(Engine& engine, const json& graph) {
  engine.apply(graph);
  json exit;
  await([&] {
    // Seldom, because workers pause for it.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const json stats = engine.stats();
    for (const json& module : stats["modules"])
      if (module["name"] == "exit") exit = module;
    return exit["packets_in"].get<uint64_t>() >= kLatencies;
  });
  engine.apply(empty_graph());
  return {{"p10", percentile_ns(exit["latency_ns"], 0.1)}, {"p50", percentile_ns(exit["latency_ns"], 0.5)}};
}

using Show = std::function<void(const json& result)>;

// Each round measures all graphs, so that what changes on the machine changes all of them.
void costs(const Eal& eal, uint16_t bytes, const Show& show) {
  BatchTimes times;
  const ModuleKind source = full_source(times);
  Engine engine({.workers = 1, .cpus = {}, .more_kinds = {&source}}, eal);
  std::map<std::string, std::vector<double>> cycles;
  std::map<std::string, json> results;
  for (int round = 0; round < kChainRounds; ++round) {
    const double bare = cycles_of(engine, times, graph_of({"", {}}, Form::kSequence, bytes, 0));
    const auto take = [&](json result, const Chain& chain, Form form) {
      const std::string key = result.dump();
      cycles[key].push_back(cycles_of(engine, times, graph_of(chain, form, bytes, 0)) - bare);
      results[key] = std::move(result);
    };
    for (const char* kind : loaded_nfs())
      take({{"nf", kind}, {"bytes", bytes}}, sequence(kind, {kind}), Form::kSequence);
    take({{"chain", "of 4 NFs"}, {"bytes", bytes}}, sequence("", four_nfs()), Form::kSequence);
    const Chain readers{"", {{{"l2-forwarder"}, {"l2-forwarder"}}}};
    const Chain writers{"", {{{"l2-forwarder", true}, {"l2-forwarder", true}, {"l2-forwarder"}}}};
    take({{"part", "two reading branches"}, {"bytes", bytes}}, readers, Form::kParallel);
    take({{"part", "two writing branches and a reading one"}, {"bytes", bytes}}, writers, Form::kParallel);
    for (const Chain& chain : compared()) {
      take({{"chain", chain.name}, {"bytes", bytes}, {"form", "sequence"}}, chain, Form::kSequence);
      take({{"chain", chain.name}, {"bytes", bytes}, {"form", "parallel"}}, chain, Form::kParallel);
    }
  }
  for (auto& [key, result] : results) {
    result["cycles"] = median(cycles[key]);
    result["hz"] = rte_get_tsc_hz();
    show(result);
  }
}

void latencies(const Eal& eal, const Show& show) {
  BatchTimes times;
  const ModuleKind source = full_source(times);
  // Each on a core of its own, or they would wait for each other.
  Engine engine({.workers = 2, .cpus = {0, 1}, .more_kinds = {&source}}, eal);
  for (const Chain& chain : compared())
    for (const auto& [form, name] :
         {std::pair(Form::kSequence, "sequence"), std::pair(Form::kParallelTwoWorkers, "parallel, two workers")}) {
      times.clear();
      show({{"chain", chain.name},
            {"bytes", kLong},
            {"form", name},
            {"latency_ns", latency_of(engine, graph_of(chain, form, kLong, kGapUs))}});
    }
}

}  // namespace

void chains(const Eal& eal, const Show& show) {
  for (const uint16_t bytes : {kShort, kLong}) costs(eal, bytes, show);
  latencies(eal, show);
}

}  // namespace orrery::bench
