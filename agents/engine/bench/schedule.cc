// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include <rte_cycles.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/schedule/build_schedule.h"

namespace orrery::bench {
namespace {

using nlohmann::json;

constexpr uint64_t kRunsEach = 10'000;
constexpr size_t kMeasurements = 201;
constexpr uint64_t kRunCycles = 3'000;
// A limit that is never reached.
constexpr double kPlenty = 1e15;

class Still final : public TaskModule {
 public:
  explicit Still(bool backlogged) : backlogged_(backlogged) {}

  void process(Pass&, Batch&, uint8_t) override {}
  uint32_t poll(Pass&) override { return 0; }
  Wakeup wakeup() const override { return {}; }
  bool backlogged(uint64_t) const override { return backlogged_; }

 private:
  bool backlogged_;
};

json policy_node(const char* kind, const std::string& id, const json& parent, const json& more = json::object()) {
  json out{{"kind", kind}, {"id", id}, {"parent", parent}, {"weight", nullptr}, {"level", nullptr}};
  out.update(more);
  return out;
}

void add_tasks(json& tree, uint32_t tasks, const std::string& parent, const std::function<json(uint32_t)>& place) {
  for (uint32_t i = 0; i < tasks; ++i) {
    json more = place(i);
    more["module"] = "t" + std::to_string(i);
    tree.push_back(policy_node("task", "t" + std::to_string(i), parent, more));
  }
}

json by_weight(uint32_t i) {
  return {{"weight", 1 + i % 7}};
}

json by_level(uint32_t i) {
  return {{"level", i}};
}

json no_place(uint32_t) {
  return json::object();
}

json tree_of(const std::string& name, uint32_t tasks) {
  const json yield{{"when_idle", "yield"}}, plenty{{"resource", "cycles"}, {"per_second", kPlenty}};
  json tree = json::array();
  if (name == "priority") {
    tree = {policy_node("priority", "root", nullptr)};
    add_tasks(tree, tasks, "root", by_level);
  } else if (name == "weighted-fair") {
    tree = {policy_node("weighted-fair", "root", nullptr, yield)};
    add_tasks(tree, tasks, "root", by_weight);
  } else if (name == "rate-limit over round-robin") {
    tree = {policy_node("rate-limit", "root", nullptr, plenty), policy_node("round-robin", "turns", "root")};
    add_tasks(tree, tasks, "turns", no_place);
  } else if (name == "rate-limit over priority over weighted-fair") {
    json fair = yield;
    fair["level"] = 0;
    tree = {policy_node("rate-limit", "root", nullptr, plenty), policy_node("priority", "levels", "root"),
            policy_node("weighted-fair", "fair", "levels", fair)};
    add_tasks(tree, tasks, "fair", by_weight);
  }
  return tree;
}

double cycles_of_a_run(Schedule& schedule) {
  std::vector<uint64_t> times;
  times.reserve(kMeasurements);
  uint64_t now_ns = 1;
  for (size_t n = 0; n < kMeasurements; ++n) {
    const uint64_t start = rte_rdtsc();
    for (uint64_t run = 0; run < kRunsEach; ++run) {
      if (schedule.pick(++now_ns) == nullptr) return 0;
      schedule.account({.cycles = kRunCycles, .packets = kBatchSize, .bytes = uint64_t{kBatchSize} * 60});
    }
    times.push_back(rte_rdtsc() - start);
  }
  const auto middle = times.begin() + kMeasurements / 2;
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) / kRunsEach;
}

double cost_of(const std::string& name, uint32_t tasks, uint32_t backlogged) {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Node*> all;
  for (uint32_t i = 0; i < tasks; ++i) {
    nodes.push_back(std::make_unique<Node>());
    // The last ones have work: the worst case of a priority.
    nodes.back()->module = std::make_unique<Still>(i >= tasks - backlogged);
    all.push_back(nodes.back().get());
  }
  if (name == "no tree") return cycles_of_a_run(*build_schedule(nullptr, all, nodes));
  const FindTask find = [](const std::string& module, uint32_t, const std::string&) -> size_t {
    return std::stoul(module.substr(1));
  };
  const ScheduleTreeSpec spec = parse_schedule_tree({{"worker", 0}, {"tree", tree_of(name, tasks)}}, "", 1, find);
  return cycles_of_a_run(*build_schedule(&spec, all, nodes));
}

}  // namespace

void schedule(const std::function<void(const ScheduleCost& cost)>& show) {
  for (const char* name : {"no tree", "priority", "weighted-fair", "rate-limit over round-robin",
                           "rate-limit over priority over weighted-fair"})
    for (const auto& [tasks, backlogged] :
         {std::pair(2u, 2u), std::pair(16u, 16u), std::pair(16u, 2u), std::pair(256u, 256u)})
      show({name, tasks, backlogged, cost_of(name, tasks, backlogged)});
}

}  // namespace orrery::bench
