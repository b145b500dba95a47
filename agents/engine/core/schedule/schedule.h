// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/schedule_node.h"

namespace orrery {

// A node of a tree as statistics show it.
struct ScheduleReading {
  const ScheduleNode* node;
  UsageTotal total;
};

// The order in which one worker runs its tasks. Tasks are run in rounds: pick() and account() in turn until pick()
// returns null, at most runs_a_round() times. The worker parks and sleeps between rounds only.
class Schedule {
 public:
  // A node of the tree, in its order, with what makes it the same in two trees beside its id: its kind, and the module
  // of a task.
  struct Entry {
    ScheduleNode* node;
    std::string identity;
  };

  // `tree`: nodes of the tree below `root`; empty without one. `tasks`: of the worker, in all.
  Schedule(std::unique_ptr<ScheduleNode> root, std::vector<Entry> tree, size_t tasks);

  size_t runs_a_round() const { return runs_a_round_; }

  // The task to run next; null: all are idle or held back, and none lingers.
  Node* pick(uint64_t now_ns) {
    at_.now_ns = now_ns;
    if (Node* task = root_->pick(at_); task != nullptr) return task;
    at_.lingers = true;
    Node* task = root_->pick(at_);
    at_.lingers = false;
    if (task == nullptr) ++at_.turn;
    return task;
  }

  // What the task that was picked last has used.
  void account(const Usage& usage) {
    root_->account(usage);
    at_.turn += usage.packets != 0 ? 1 : 0;
  }

  void collect_waits(Waits& waits) const { root_->collect_waits(waits); }

  // In the order of the tree; empty without one.
  std::vector<ScheduleReading> read() const;

  // Hand-over from the schedule of the same worker in the old graph, as of ScheduleNode.
  void prepare_adopt(const Schedule& old);
  void adopt() noexcept;

 private:
  std::unique_ptr<ScheduleNode> root_;
  std::vector<Entry> tree_;
  size_t runs_a_round_;
  Instant at_{.now_ns = 0, .turn = 1};
  std::vector<std::pair<ScheduleNode*, const ScheduleNode*>> kept_;
};

}  // namespace orrery
