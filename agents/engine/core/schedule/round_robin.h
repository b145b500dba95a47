// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/schedule/schedule_node.h"

namespace orrery {

// Runs each child once a round, in order; a child that is a policy runs its own round in its turn.
class RoundRobin final : public ScheduleNode {
 public:
  explicit RoundRobin(std::vector<std::unique_ptr<ScheduleNode>> children) : children_(std::move(children)) {}

  void begin_round(uint64_t now_ns) override;
  Node* pick() override;
  void account(const Usage& usage) override { children_[next_]->account(usage); }
  uint64_t due_ns() const override;

 private:
  std::vector<std::unique_ptr<ScheduleNode>> children_;
  size_t next_ = 0;  // child whose turn it is
};

// One leaf for each task.
std::unique_ptr<ScheduleNode> make_round_robin(std::span<Node* const> tasks);

}  // namespace orrery
