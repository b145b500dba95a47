// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph.h"
#include "core/schedule/schedule_node.h"

namespace orrery {

class TaskLeaf final : public ScheduleNode {
 public:
  TaskLeaf(std::string id, Node& task)
      : ScheduleNode(std::move(id)), task_(&task), module_(static_cast<TaskModule*>(task.module.get())) {}

  const Node& task() const { return *task_; }

  bool ready(const Instant& at) const override { return empty_turn_ != at.turn && module_->backlogged(at.now_ns); }
  bool held(const Instant&) const override { return false; }
  Node* pick(const Instant& at) override { return ready(at) ? poll(at) : nullptr; }
  Node* poll(const Instant& at) override {
    turn_ = at.turn;
    return task_;
  }
  void collect_waits(Waits& waits) const override { waits.tasks.push_back(task_); }
  void collect_held(Waits& waits) const override { waits.held.push_back(task_); }

 protected:
  void charge(const Usage& usage) override {
    if (usage.packets == 0) empty_turn_ = turn_;
  }

 private:
  Node* task_;
  TaskModule* module_;
  uint64_t turn_ = 0;
  uint64_t empty_turn_ = 0;  // when it was last polled in vain
};

}  // namespace orrery
