// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/schedule_node.h"

namespace orrery {

// A task, which runs once a round.
class TaskLeaf final : public ScheduleNode {
 public:
  explicit TaskLeaf(Node& task) : task_(&task) {}

  void begin_round(uint64_t) override { due_ = true; }
  Node* pick() override { return due_ ? task_ : nullptr; }
  void account(const Usage&) override { due_ = false; }

 private:
  Node* task_;
  bool due_ = false;
};

}  // namespace orrery
