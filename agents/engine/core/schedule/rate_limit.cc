// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/rate_limit.h"

#include <algorithm>

#include "core/schedule/round_robin.h"
#include "support/json_fields.h"

namespace orrery {

namespace {

constexpr double kBurstNs = 1e6;
constexpr double kMinPerSecond = 1;
constexpr double kMaxPerSecond = 1e15;
// So that a debt of any size is a time that the clock can hold.
constexpr double kMaxHoldNs = 1e18;

}  // namespace

RateLimit::RateLimit(std::string id, Resource resource, double per_second, std::vector<ScheduleChild> children)
    : ScheduleNode(std::move(id)),
      resource_(resource),
      per_ns_(per_second / 1e9),
      child_(in_turn(std::move(children))),
      burst_(per_ns_ * kBurstNs),
      tokens_(burst_) {}

double RateLimit::tokens_at(uint64_t now_ns) const {
  if (now_ns <= filled_ns_) return tokens_;
  return std::min(room(), tokens_ + per_ns_ * static_cast<double>(now_ns - filled_ns_));
}

bool RateLimit::refill(uint64_t now_ns) {
  tokens_ = tokens_at(now_ns);
  filled_ns_ = std::max(filled_ns_, now_ns);
  return tokens_ > 0;
}

void RateLimit::charge(const Usage& usage) {
  const uint64_t used = resource_ == Resource::kCycles    ? usage.cycles
                        : resource_ == Resource::kPackets ? usage.packets
                                                          : 8 * usage.bytes;
  tokens_ -= static_cast<double>(used);
  if (usage.packets != 0) last_use_ = static_cast<double>(used);
  child_->account(usage);
}

void RateLimit::collect_waits(Waits& waits) const {
  if (tokens_ > 0) return child_->collect_waits(waits);
  child_->collect_held(waits);
  const uint64_t due_ns = filled_ns_ + 1 + static_cast<uint64_t>(std::min(kMaxHoldNs, -tokens_ / per_ns_));
  waits.due_ns = waits.due_ns == 0 ? due_ns : std::min(waits.due_ns, due_ns);
}

void RateLimit::adopt(const ScheduleNode& old_node) noexcept {
  const auto& old = static_cast<const RateLimit&>(old_node);
  ScheduleNode::adopt(old);
  if (old.resource_ != resource_) return;
  last_use_ = old.last_use_;
  tokens_ = std::min(room(), old.tokens_);
  filled_ns_ = old.filled_ns_;
}

extern const PolicyKind kRateLimit{
    .name = "rate-limit",
    .below = PolicyKind::Below::kNothing,
    .parse = [](JsonFields& fields) -> MakePolicy {
      using Resource = RateLimit::Resource;
      const std::string name = fields.string("resource", 16);
      if (name != "cycles" && name != "packets" && name != "bits")
        fields.fail("resource", "must be cycles, packets or bits");
      const Resource resource = name == "cycles"    ? Resource::kCycles
                                : name == "packets" ? Resource::kPackets
                                                    : Resource::kBits;
      fields.required("per_second");
      const double per_second = fields.number_or("per_second", kMinPerSecond, kMinPerSecond);
      if (per_second > kMaxPerSecond) fields.fail("per_second", "must be a number of at most 1e15");
      return [resource, per_second](std::string id, std::vector<ScheduleChild> children) {
        return std::make_unique<RateLimit>(std::move(id), resource, per_second, std::move(children));
      };
    },
};

}  // namespace orrery
