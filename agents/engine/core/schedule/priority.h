// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/schedule/policy.h"

namespace orrery {

// Strict priority: a level runs only when all levels above it are idle or held back at that moment, so a level that is
// never idle starves those below it, as asked. Level 0 is served first; children of one level take turns.
class Priority final : public Policy {
 public:
  Priority(std::string id, std::vector<ScheduleChild> children);

  Node* pick(const Instant& at) override;
  Node* poll(const Instant& at) override;

 protected:
  void charge(const Usage& usage) override { children_[picked_]->account(usage); }

 private:
  size_t picked_ = 0;
};

}  // namespace orrery
