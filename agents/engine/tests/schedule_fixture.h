// SPDX-License-Identifier: Apache-2.0
// Schedules on tasks that only pretend: packets and costs are numbers, and the clock is the sum of the costs.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/schedule/schedule.h"

namespace orrery::testing {

// A task whose queue is a number.
class FakeTask final : public TaskModule {
 public:
  // `must_poll`: like a port, it does not tell beforehand whether there is something.
  explicit FakeTask(bool must_poll) : must_poll_(must_poll) {}

  void process(Pass&, Batch&, uint8_t) override {}
  uint32_t poll(Pass&) override { return 0; }
  Wakeup wakeup() const override { return {}; }
  bool backlogged(uint64_t) const override { return must_poll_ || queued != 0; }

  uint64_t queued = 0;

 private:
  bool must_poll_;
};

constexpr uint64_t kMs = 1'000'000;  // in nanoseconds, and in cycles of FakeWorker
constexpr uint64_t kEndless = uint64_t{1} << 62;

// Tasks and a clock of one cycle a nanosecond.
class FakeWorker {
 public:
  struct Task {
    uint64_t packet_cycles = 100;
    uint64_t packet_bytes = 100;
    uint64_t arrivals_per_ms = 0;  // packets; beside what is queued
    bool must_poll = false;
  };

  explicit FakeWorker(std::vector<Task> tasks);

  size_t size() const { return tasks_.size(); }
  Task& task(size_t i) { return tasks_[i]; }
  uint64_t& queued(size_t i) { return module(i).queued; }
  std::span<const std::unique_ptr<Node>> nodes() const { return nodes_; }

  // Runs the schedule's rounds for so many cycles; a worker that finds nothing waits, 20 us at a time.
  void run(Schedule& schedule, uint64_t cycles);

  uint64_t now_ns = 1'000'000'000;
  std::vector<uint64_t> cycles;   // by task
  std::vector<uint64_t> packets;  // by task
  std::vector<size_t> order;      // tasks in the order of their runs, as long as `keeps_order`
  bool keeps_order = false;

 private:
  FakeTask& module(size_t i) { return static_cast<FakeTask&>(*nodes_[i]->module); }
  void arrive(uint64_t until_ns);

  std::vector<Task> tasks_;
  std::vector<std::unique_ptr<Node>> nodes_;
  uint64_t arrived_ns_ = 0;
  std::vector<uint64_t> remainder_;  // of arrivals, in packets / 1e6
};

// A node of a tree (contract: EngineSchedulerNode) and what is below it.
struct TreeNode {
  nlohmann::json json;
  std::vector<TreeNode> children;

  TreeNode weight(double weight) &&;
  TreeNode level(int level) &&;
};
TreeNode task(size_t i);
TreeNode round_robin(std::vector<TreeNode> children);
TreeNode priority(std::vector<TreeNode> children);
TreeNode weighted_fair(const std::string& when_idle, std::vector<TreeNode> children);
TreeNode rate_limit(const std::string& resource, double per_second, TreeNode child);

// Nodes in order, with the ids `root`, `root.0`, `root.0.1` by place; tasks have the id of their module.
nlohmann::json tree_of(const TreeNode& root);

// The schedule of a tree over tasks of the worker.
std::unique_ptr<Schedule> schedule_of(FakeWorker& worker, const TreeNode& root);

}  // namespace orrery::testing
