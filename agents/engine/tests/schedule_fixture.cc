// SPDX-License-Identifier: Apache-2.0
#include "schedule_fixture.h"

#include <algorithm>
#include <functional>

#include "core/schedule/build_schedule.h"

namespace orrery::testing {

namespace {

constexpr uint64_t kEmptyPollCycles = 40;
constexpr uint64_t kIdleNs = 20'000;

}  // namespace

FakeWorker::FakeWorker(std::vector<Task> tasks)
    : cycles(tasks.size()), packets(tasks.size()), tasks_(std::move(tasks)), remainder_(tasks_.size()) {
  arrived_ns_ = now_ns;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    nodes_.push_back(std::make_unique<Node>());
    nodes_[i]->name = "t" + std::to_string(i);
    nodes_[i]->rank = static_cast<uint32_t>(i);
    nodes_[i]->module = std::make_unique<FakeTask>(tasks_[i].must_poll);
  }
}

void FakeWorker::arrive(uint64_t until_ns) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].arrivals_per_ms == 0) continue;
    remainder_[i] += tasks_[i].arrivals_per_ms * (until_ns - arrived_ns_);
    queued(i) += remainder_[i] / kMs;
    remainder_[i] %= kMs;
  }
  arrived_ns_ = until_ns;
}

void FakeWorker::run(Schedule& schedule, uint64_t for_cycles) {
  const uint64_t end_ns = now_ns + for_cycles;
  while (now_ns < end_ns) {
    for (size_t runs = schedule.runs_a_round(); runs > 0 && now_ns < end_ns; --runs) {
      Node* picked = schedule.pick(now_ns);
      if (picked == nullptr) {
        now_ns += kIdleNs;
        arrive(now_ns);
        break;
      }
      const size_t i = picked->rank;
      const uint64_t taken = std::min<uint64_t>(queued(i), kBatchSize);
      const uint64_t cost = taken == 0 ? kEmptyPollCycles : taken * tasks_[i].packet_cycles;
      queued(i) -= taken;
      now_ns += cost;
      cycles[i] += cost;
      packets[i] += taken;
      if (keeps_order) order.push_back(i);
      arrive(now_ns);
      schedule.account({.cycles = cost, .packets = taken, .bytes = taken * tasks_[i].packet_bytes});
    }
  }
}

TreeNode TreeNode::weight(double weight) && {
  json["weight"] = weight;
  return std::move(*this);
}

TreeNode TreeNode::level(int level) && {
  json["level"] = level;
  return std::move(*this);
}

TreeNode task(size_t i) {
  return {.json = {{"kind", "task"}, {"module", "t" + std::to_string(i)}}, .children = {}};
}

TreeNode round_robin(std::vector<TreeNode> children) {
  return {.json = {{"kind", "round-robin"}}, .children = std::move(children)};
}

TreeNode priority(std::vector<TreeNode> children) {
  return {.json = {{"kind", "priority"}}, .children = std::move(children)};
}

TreeNode weighted_fair(const std::string& when_idle, std::vector<TreeNode> children) {
  return {.json = {{"kind", "weighted-fair"}, {"when_idle", when_idle}}, .children = std::move(children)};
}

TreeNode rate_limit(const std::string& resource, double per_second, TreeNode child) {
  TreeNode out{.json = {{"kind", "rate-limit"}, {"resource", resource}, {"per_second", per_second}}, .children = {}};
  out.children.push_back(std::move(child));
  return out;
}

nlohmann::json tree_of(const TreeNode& root) {
  nlohmann::json out = nlohmann::json::array();
  const std::function<void(const TreeNode&, const std::string&, const nlohmann::json&)> add =
      [&](const TreeNode& node, const std::string& id, const nlohmann::json& parent) {
        nlohmann::json json = node.json;
        json["id"] = json.value("module", id);
        json["parent"] = parent;
        for (const char* place : {"weight", "level"})
          if (!json.contains(place)) json[place] = nullptr;
        out.push_back(json);
        for (size_t i = 0; i < node.children.size(); ++i)
          add(node.children[i], id + "." + std::to_string(i), json["id"]);
      };
  add(root, "root", nullptr);
  return out;
}

std::unique_ptr<Schedule> schedule_of(FakeWorker& worker, const TreeNode& root) {
  const FindTask find = [](const std::string& module, uint32_t, const std::string&) -> size_t {
    return std::stoul(module.substr(1));
  };
  const ScheduleTreeSpec spec = parse_schedule_tree({{"worker", 0}, {"tree", tree_of(root)}}, "/schedulers/0", 1, find);
  std::vector<Node*> tasks;
  for (const ScheduleNodeSpec& node : spec.nodes)
    if (node.policy == nullptr) tasks.push_back(worker.nodes()[node.module].get());
  return build_schedule(&spec, tasks, worker.nodes());
}

}  // namespace orrery::testing
