// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule.h"

#include <algorithm>
#include <map>

namespace orrery {

namespace {

// So that little of the time goes into what happens between rounds.
constexpr size_t kMinRunsARound = 8;

}  // namespace

Schedule::Schedule(std::unique_ptr<ScheduleNode> root, std::vector<Entry> tree, size_t tasks)
    : root_(std::move(root)), tree_(std::move(tree)), runs_a_round_(std::max(kMinRunsARound, tasks)) {}

std::vector<ScheduleReading> Schedule::read() const {
  std::vector<ScheduleReading> out;
  out.reserve(tree_.size());
  for (const Entry& entry : tree_) out.push_back({entry.node, entry.node->total()});
  return out;
}

void Schedule::prepare_adopt(const Schedule& old) {
  std::map<std::string_view, const Entry*> by_id;
  for (const Entry& entry : old.tree_) by_id.emplace(entry.node->id(), &entry);
  for (const Entry& entry : tree_) {
    const auto it = by_id.find(entry.node->id());
    if (it == by_id.end() || it->second->identity != entry.identity) continue;
    entry.node->prepare_adopt(*it->second->node);
    kept_.emplace_back(entry.node, it->second->node);
  }
}

void Schedule::adopt() noexcept {
  for (const auto& [node, old] : kept_) node->adopt(*old);
  // The old nodes are about to be freed.
  kept_.clear();
}

}  // namespace orrery
