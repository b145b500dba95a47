// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/build_schedule.h"

#include <algorithm>
#include <set>

#include "core/schedule/round_robin.h"
#include "core/schedule/task_leaf.h"

namespace orrery {

namespace {

struct BuiltTree {
  std::unique_ptr<ScheduleNode> root;
  std::vector<Schedule::Entry> entries;
  std::set<const Node*> tasks;
};

// From the last node to the first, so that children are made before their parents.
BuiltTree build_tree(const std::vector<ScheduleNodeSpec>& specs, std::span<const std::unique_ptr<Node>> nodes) {
  BuiltTree out;
  out.entries.resize(specs.size());
  std::vector<std::vector<ScheduleChild>> below(specs.size());
  for (size_t i = specs.size(); i-- > 0;) {
    const ScheduleNodeSpec& spec = specs[i];
    std::unique_ptr<ScheduleNode> node;
    if (spec.policy == nullptr) {
      Node& task = *nodes[spec.module];
      out.tasks.insert(&task);
      node = std::make_unique<TaskLeaf>(spec.id, task);
      out.entries[i] = {node.get(), "task " + task.name};
    } else {
      std::ranges::reverse(below[i]);
      node = spec.make(spec.id, std::move(below[i]));
      out.entries[i] = {node.get(), std::string(spec.policy->name)};
    }
    if (i == 0) {
      out.root = std::move(node);
    } else {
      below[spec.parent].push_back({std::move(node), spec.weight, spec.level});
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<Schedule> build_schedule(const ScheduleTreeSpec* tree, std::span<Node* const> tasks,
                                         std::span<const std::unique_ptr<Node>> nodes) {
  BuiltTree built;
  if (tree != nullptr) built = build_tree(tree->nodes, nodes);
  std::vector<ScheduleChild> others;
  for (Node* task : tasks)
    if (!built.tasks.contains(task)) others.push_back({.node = std::make_unique<TaskLeaf>("", *task)});
  std::vector<ScheduleChild> all;
  if (built.root != nullptr) all.push_back({.node = std::move(built.root)});
  if (!others.empty()) all.push_back({.node = in_turn(std::move(others))});
  return std::make_unique<Schedule>(in_turn(std::move(all)), std::move(built.entries), tasks.size());
}

}  // namespace orrery
