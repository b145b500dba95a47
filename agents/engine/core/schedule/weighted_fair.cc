// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/weighted_fair.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "support/json_fields.h"

namespace orrery {

namespace {

// Idle children that are looked at for each run, so that the cost of a run does not grow with their number.
constexpr size_t kLooksARun = 4;
// For how long idle children are polled after the last packet. Longer than a loaded chain leaves a worker without one,
// short enough that a worker without traffic sleeps.
constexpr uint64_t kLingerNs = 100'000'000;
// Beyond this a double would lose cycles.
constexpr double kMaxTime = 0x1p50;
constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

}  // namespace

WeightedFair::WeightedFair(std::string id, WhenIdle when_idle, std::vector<ScheduleChild> children)
    : Policy(std::move(id), {}), when_idle_(when_idle) {
  double sum = 0;
  for (const ScheduleChild& child : children) sum += child.weight;
  shares_.reserve(children.size());
  for (const ScheduleChild& child : children) shares_.push_back({.per_cycle = sum / child.weight});
  children_ = nodes_of(std::move(children));
  active_.reserve(children_.size());
  idle_.resize(children_.size());
  std::iota(idle_.begin(), idle_.end(), 0);
}

Node* WeightedFair::pick(const Instant& at) {
  picked_ns_ = at.now_ns;
  if (!active_.empty()) wake_some(at);
  while (!active_.empty() || wake_all(at)) {
    ScheduleNode& first = *children_[active_.front()];
    if (Node* task = first.pick(at); task != nullptr) return picked(0, task);
    if (when_idle_ == WhenIdle::kPoll) {
      if (!ready(at) && !(at.lingers && lingers(at.now_ns))) return nullptr;
      if (Node* task = first.poll(at); task != nullptr) return picked(0, task);
    }
    leave();
  }
  return nullptr;
}

Node* WeightedFair::poll(const Instant& at) {
  for (size_t i = 0; i < active_.size(); ++i)
    if (Node* task = children_[active_[i]]->poll(at); task != nullptr) return picked(i, task);
  for (uint32_t child : idle_) {
    if (Node* task = children_[child]->poll(at); task != nullptr) {
      picked_ = child;
      position_ = kNowhere;
      return task;
    }
  }
  return nullptr;
}

Node* WeightedFair::picked(size_t position, Node* task) {
  position_ = position;
  picked_ = active_[position];
  now_ = std::max(now_, shares_[active_.front()].time);
  if (now_ > kMaxTime) rebase();
  return task;
}

void WeightedFair::charge(const Usage& usage) {
  children_[picked_]->account(usage);
  if (usage.packets != 0) linger_until_ns_ = picked_ns_ + kLingerNs;
  Share& share = shares_[picked_];
  share.time += static_cast<double>(usage.cycles) * share.per_cycle;
  if (position_ < active_.size()) sift_down(position_);
}

void WeightedFair::collect_waits(Waits& waits) const {
  Policy::collect_waits(waits);
  // Due at once: a worker that lingers does not sleep.
  if (lingers(picked_ns_)) waits.due_ns = picked_ns_;
}

bool WeightedFair::wakes(uint32_t child, const Instant& at) const {
  const ScheduleNode& node = *children_[child];
  return when_idle_ == WhenIdle::kPoll ? !node.held(at) : node.ready(at);
}

void WeightedFair::wake_some(const Instant& at) {
  for (size_t looks = std::min(kLooksARun, idle_.size()); looks > 0; --looks) {
    if (next_idle_ >= idle_.size()) next_idle_ = 0;
    if (wakes(idle_[next_idle_], at)) return join(next_idle_);
    ++next_idle_;
  }
}

bool WeightedFair::wake_all(const Instant& at) {
  for (size_t i = idle_.size(); i-- > 0;)
    if (wakes(idle_[i], at)) join(i);
  return !active_.empty();
}

void WeightedFair::join(size_t idle_position) {
  const uint32_t child = idle_[idle_position];
  idle_[idle_position] = idle_.back();
  idle_.pop_back();
  shares_[child].time = std::max(shares_[child].time, now_);
  active_.push_back(child);
  std::ranges::push_heap(active_, [this](uint32_t a, uint32_t b) { return starts_later(a, b); });
}

// The first of the active children.
void WeightedFair::leave() {
  idle_.push_back(active_.front());
  active_.front() = active_.back();
  active_.pop_back();
  if (!active_.empty()) sift_down(0);
}

void WeightedFair::sift_down(size_t position) {
  const uint32_t moved = active_[position];
  for (size_t child = 0; (child = 2 * position + 1) < active_.size(); position = child) {
    if (child + 1 < active_.size() && starts_later(active_[child], active_[child + 1])) ++child;
    if (!starts_later(moved, active_[child])) break;
    active_[position] = active_[child];
  }
  active_[position] = moved;
}

void WeightedFair::rebase() {
  for (Share& share : shares_) share.time = std::max(0.0, share.time - now_);
  now_ = 0;
}

void WeightedFair::prepare_adopt(const ScheduleNode& old_node) {
  const auto& old = static_cast<const WeightedFair&>(old_node);
  std::map<std::string_view, uint32_t> from;
  for (uint32_t i = 0; i < old.children_.size(); ++i) from.emplace(old.children_[i]->id(), i);
  for (uint32_t i = 0; i < children_.size(); ++i)
    if (const auto it = from.find(children_[i]->id()); it != from.end()) kept_.push_back({i, it->second});
}

// A child that is ahead of the others stays so by as many cycles.
void WeightedFair::adopt(const ScheduleNode& old_node) noexcept {
  const auto& old = static_cast<const WeightedFair&>(old_node);
  ScheduleNode::adopt(old);
  for (const Kept& kept : kept_) {
    const Share& from = old.shares_[kept.from];
    Share& to = shares_[kept.to];
    to.time = std::max(0.0, from.time - old.now_) / from.per_cycle * to.per_cycle;
  }
}

extern const PolicyKind kWeightedFair{
    .name = "weighted-fair",
    .below = PolicyKind::Below::kWeight,
    .parse = [](JsonFields& fields) -> MakePolicy {
      const std::string name = fields.string("when_idle", 16);
      if (name != "poll" && name != "yield") fields.fail("when_idle", "must be poll or yield");
      const auto when_idle = name == "poll" ? WeightedFair::WhenIdle::kPoll : WeightedFair::WhenIdle::kYield;
      return [when_idle](std::string id, std::vector<ScheduleChild> children) {
        return std::make_unique<WeightedFair>(std::move(id), when_idle, std::move(children));
      };
    },
};

}  // namespace orrery
