// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/schedule/policy_kind.h"
#include "core/schedule/schedule_node.h"

namespace orrery {

// What policies have in common: children, any of which may run.
class Policy : public ScheduleNode {
 public:
  bool ready(const Instant& at) const override;
  bool held(const Instant& at) const override;
  void collect_waits(Waits& waits) const override;
  void collect_held(Waits& waits) const override;

 protected:
  using Children = std::vector<std::unique_ptr<ScheduleNode>>;

  Policy(std::string id, Children children) : ScheduleNode(std::move(id)), children_(std::move(children)) {}

  Children children_;
};

std::vector<std::unique_ptr<ScheduleNode>> nodes_of(std::vector<ScheduleChild> children);

}  // namespace orrery
