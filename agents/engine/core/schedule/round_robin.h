// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/schedule/policy.h"

namespace orrery {

// One run for each child in turn; idle children are passed over.
class RoundRobin final : public Policy {
 public:
  RoundRobin(std::string id, std::vector<ScheduleChild> children)
      : Policy(std::move(id), nodes_of(std::move(children))) {}

  Node* pick(const Instant& at) override;
  Node* poll(const Instant& at) override;

 protected:
  void charge(const Usage& usage) override;

 private:
  size_t next_ = 0;  // whose turn it is, or, between pick() and account(), who was picked
};

// For policies with a single place for several nodes: the only child, or all of them in turn.
std::unique_ptr<ScheduleNode> in_turn(std::vector<ScheduleChild> children);

}  // namespace orrery
