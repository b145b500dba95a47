// SPDX-License-Identifier: Apache-2.0
// A worker's scheduler tree, as in Berkeley BESS: its leaves are tasks, its inner nodes policies that choose among what
// is below them. A new policy is one file here.
#pragma once

#include <cstdint>

namespace orrery {

struct Node;

// What one run of a task has used.
struct Usage {
  uint32_t packets;  // 0: the task had nothing to do
  uint64_t cycles;
};

// A task or a policy. For one worker. Tasks are run in rounds: begin_round(), then pick() and account() in turn until
// pick() returns null. A round ends after a bounded number of picks; the worker parks and sleeps between rounds only.
class ScheduleNode {
 public:
  virtual ~ScheduleNode() = default;

  virtual void begin_round(uint64_t now_ns) = 0;

  // The task to run next; null at the end of the round.
  virtual Node* pick() = 0;

  // What the task that was picked last has used.
  virtual void account(const Usage& usage) = 0;

  // When a task that is held back, by a rate limit for instance, may run again (CLOCK_MONOTONIC); 0: none is.
  virtual uint64_t due_ns() const { return 0; }
};

}  // namespace orrery
