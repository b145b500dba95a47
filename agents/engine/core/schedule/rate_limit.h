// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include "core/schedule/policy_kind.h"

namespace orrery {

// A token bucket over everything below, in which children take turns. A run may overdraw it; what is below is then held
// back until the debt is paid, so the rate holds exactly over time. The bucket has room for 1 ms at the rate, and for
// what the last run used.
class RateLimit final : public ScheduleNode {
 public:
  enum class Resource : uint8_t { kCycles, kPackets, kBits };

  RateLimit(std::string id, Resource resource, double per_second, std::vector<ScheduleChild> children);

  bool ready(const Instant& at) const override { return tokens_at(at.now_ns) > 0 && child_->ready(at); }
  bool held(const Instant& at) const override { return tokens_at(at.now_ns) <= 0 || child_->held(at); }
  Node* pick(const Instant& at) override { return refill(at.now_ns) ? child_->pick(at) : nullptr; }
  Node* poll(const Instant& at) override { return refill(at.now_ns) ? child_->poll(at) : nullptr; }
  void collect_waits(Waits& waits) const override;
  void collect_held(Waits& waits) const override { child_->collect_held(waits); }
  void adopt(const ScheduleNode& old) noexcept override;

 protected:
  void charge(const Usage& usage) override;

 private:
  double room() const { return std::max(burst_, last_use_); }
  double tokens_at(uint64_t now_ns) const;
  bool refill(uint64_t now_ns);

  Resource resource_;
  double per_ns_;
  std::unique_ptr<ScheduleNode> child_;
  double burst_;
  double last_use_ = 0;  // of a run that took packets
  double tokens_;        // at `filled_ns_`; below 0: debt
  uint64_t filled_ns_ = 0;
};

}  // namespace orrery
