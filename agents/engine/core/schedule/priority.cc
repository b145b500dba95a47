// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/priority.h"

#include <map>

#include "core/schedule/round_robin.h"

namespace orrery {

namespace {

// One node for each level, first to last.
std::vector<std::unique_ptr<ScheduleNode>> levels_of(std::vector<ScheduleChild> children) {
  std::map<uint32_t, std::vector<ScheduleChild>> by_level;
  for (ScheduleChild& child : children) by_level[child.level].push_back(std::move(child));
  std::vector<std::unique_ptr<ScheduleNode>> out;
  out.reserve(by_level.size());
  for (auto& [level, members] : by_level) out.push_back(in_turn(std::move(members)));
  return out;
}

}  // namespace

Priority::Priority(std::string id, std::vector<ScheduleChild> children)
    : Policy(std::move(id), levels_of(std::move(children))) {}

Node* Priority::pick(const Instant& at) {
  for (picked_ = 0; picked_ < children_.size(); ++picked_)
    if (Node* task = children_[picked_]->pick(at); task != nullptr) return task;
  return nullptr;
}

Node* Priority::poll(const Instant& at) {
  for (picked_ = 0; picked_ < children_.size(); ++picked_)
    if (Node* task = children_[picked_]->poll(at); task != nullptr) return task;
  return nullptr;
}

extern const PolicyKind kPriority{
    .name = "priority",
    .below = PolicyKind::Below::kLevel,
    .parse = [](JsonFields&) -> MakePolicy {
      return [](std::string id, std::vector<ScheduleChild> children) {
        return std::make_unique<Priority>(std::move(id), std::move(children));
      };
    },
};

}  // namespace orrery
