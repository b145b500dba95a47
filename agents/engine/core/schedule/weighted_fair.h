// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/schedule/policy.h"

namespace orrery {

// Shares cycles by weight: whoever has used the fewest cycles for its weight runs next, and is charged what its run has
// cost (stride scheduling, Waldspurger 1995, with start-time fair queueing's rule for those that come back). The error
// is one run of each child at most, however long runs are.
//
// `yield`: an idle child leaves its share to the others and comes back without credit, so the weights hold among those
// that have work (max-min). `poll`: an idle child is polled in vain until its share is used up, so the weights hold
// whatever there is to do (Alpine 5.3.2). When all are idle, polling goes on for as long as a loaded chain would leave
// them so: what one worker spends must keep its ratio to what another does that is never idle.
class WeightedFair final : public Policy {
 public:
  enum class WhenIdle : uint8_t { kPoll, kYield };

  WeightedFair(std::string id, WhenIdle when_idle, std::vector<ScheduleChild> children);

  Node* pick(const Instant& at) override;
  Node* poll(const Instant& at) override;
  void collect_waits(Waits& waits) const override;
  void prepare_adopt(const ScheduleNode& old) override;
  void adopt(const ScheduleNode& old) noexcept override;

 protected:
  void charge(const Usage& usage) override;

 private:
  struct Share {
    double per_cycle;  // virtual time of a cycle: 1 / share
    double time = 0;   // virtual time at which its next run begins
  };
  struct Kept {
    uint32_t to;
    uint32_t from;  // index in the old policy
  };

  bool starts_later(uint32_t a, uint32_t b) const { return shares_[a].time > shares_[b].time; }
  bool lingers(uint64_t now_ns) const { return when_idle_ == WhenIdle::kPoll && now_ns < linger_until_ns_; }
  bool wakes(uint32_t child, const Instant& at) const;
  Node* picked(size_t position, Node* task);
  void wake_some(const Instant& at);
  bool wake_all(const Instant& at);
  void join(size_t idle_position);
  void leave();
  void sift_down(size_t position);
  void rebase();

  std::vector<Share> shares_;     // by child
  std::vector<uint32_t> active_;  // heap: the child with the earliest time first
  std::vector<uint32_t> idle_;    // without work; with `poll`, held back
  WhenIdle when_idle_;
  size_t next_idle_ = 0;    // position in idle_ of the child to look at next
  double now_ = 0;          // virtual time: where the last run began
  uint64_t picked_ns_ = 0;  // CLOCK_MONOTONIC: when a child was last asked for
  uint64_t linger_until_ns_ = 0;
  uint32_t picked_ = 0;     // child whose run is to be charged
  size_t position_ = 0;     // its position in active_; active_.size() or more: it is idle
  std::vector<Kept> kept_;  // children of the old policy that are here too
};

}  // namespace orrery
