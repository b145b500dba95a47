// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/round_robin.h"

#include <algorithm>

#include "core/schedule/task_leaf.h"

namespace orrery {

void RoundRobin::begin_round(uint64_t now_ns) {
  next_ = 0;
  for (const auto& child : children_) child->begin_round(now_ns);
}

Node* RoundRobin::pick() {
  for (; next_ < children_.size(); ++next_)
    if (Node* task = children_[next_]->pick(); task != nullptr) return task;
  return nullptr;
}

uint64_t RoundRobin::due_ns() const {
  uint64_t first = 0;
  for (const auto& child : children_)
    if (const uint64_t due = child->due_ns(); due != 0) first = first == 0 ? due : std::min(first, due);
  return first;
}

std::unique_ptr<ScheduleNode> make_round_robin(std::span<Node* const> tasks) {
  std::vector<std::unique_ptr<ScheduleNode>> leaves;
  leaves.reserve(tasks.size());
  for (Node* task : tasks) leaves.push_back(std::make_unique<TaskLeaf>(*task));
  return std::make_unique<RoundRobin>(std::move(leaves));
}

}  // namespace orrery
