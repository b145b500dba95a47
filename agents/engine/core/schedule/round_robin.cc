// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/round_robin.h"

namespace orrery {

Node* RoundRobin::pick(const Instant& at) {
  for (size_t tried = 0; tried < children_.size(); ++tried) {
    if (Node* task = children_[next_]->pick(at); task != nullptr) return task;
    if (++next_ == children_.size()) next_ = 0;
  }
  return nullptr;
}

Node* RoundRobin::poll(const Instant& at) {
  for (size_t tried = 0; tried < children_.size(); ++tried) {
    if (Node* task = children_[next_]->poll(at); task != nullptr) return task;
    if (++next_ == children_.size()) next_ = 0;
  }
  return nullptr;
}

void RoundRobin::charge(const Usage& usage) {
  children_[next_]->account(usage);
  if (++next_ == children_.size()) next_ = 0;
}

std::unique_ptr<ScheduleNode> in_turn(std::vector<ScheduleChild> children) {
  if (children.size() == 1) return std::move(children[0].node);
  return std::make_unique<RoundRobin>("", std::move(children));
}

extern const PolicyKind kRoundRobin{
    .name = "round-robin",
    .below = PolicyKind::Below::kNothing,
    .parse = [](JsonFields&) -> MakePolicy {
      return [](std::string id, std::vector<ScheduleChild> children) {
        return std::make_unique<RoundRobin>(std::move(id), std::move(children));
      };
    },
};

}  // namespace orrery
