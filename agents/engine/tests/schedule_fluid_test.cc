// SPDX-License-Identifier: Apache-2.0
// Random scheduler trees against the fluid that they stand for, computed here without any of their code: a capacity
// poured into the root, which priorities, shares and limits divide among the tasks, as the planner predicts it
// (backend/planner/src/schedule/fluid.ts).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "schedule_fixture.h"

namespace orrery {
namespace {

using testing::FakeWorker;
using testing::kEndless;
using testing::kMs;
using testing::schedule_of;
using testing::TreeNode;

constexpr double kCapacity = 1e9;  // cycles per second of the clock of FakeWorker
constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Fluid {
 public:
  explicit Fluid(std::vector<double> offered) : offered_(std::move(offered)), granted_(offered_.size()) {}

  // Cycles per second of each task.
  std::vector<double> pour(const TreeNode& root) {
    fill(root, kCapacity);
    return granted_;
  }

 private:
  double wanted(const TreeNode& node) const {
    const std::string kind = node.json["kind"];
    if (kind == "task") return offered_[task_of(node)];
    double sum = 0;
    for (const TreeNode& child : node.children) sum += wanted(child);
    return kind == "rate-limit" ? std::min(sum, node.json["per_second"].get<double>()) : sum;
  }

  void fill(const TreeNode& node, double capacity) {
    const std::string kind = node.json["kind"];
    if (kind == "task") {
      granted_[task_of(node)] = std::min(capacity, offered_[task_of(node)]);
    } else if (kind == "rate-limit") {
      fill(node.children[0], std::min(capacity, node.json["per_second"].get<double>()));
    } else if (kind == "priority") {
      std::vector<const TreeNode*> levels;
      for (const TreeNode& child : node.children) levels.push_back(&child);
      std::ranges::sort(levels, {}, [](const TreeNode* it) { return it->json["level"].get<int>(); });
      for (const TreeNode* level : levels) {
        const double taken = std::min(capacity, wanted(*level));
        fill(*level, taken);
        capacity -= taken;
      }
    } else {
      share(node, capacity);
    }
  }

  // Max-min: who wants less than its share of what is left has all that it wants.
  void share(const TreeNode& node, double capacity) {
    std::vector<const TreeNode*> open;
    for (const TreeNode& child : node.children) open.push_back(&child);
    const auto weight = [](const TreeNode* it) { return it->json["weight"].get<double>(); };
    while (!open.empty()) {
      double weights = 0;
      for (const TreeNode* it : open) weights += weight(it);
      const auto content = std::ranges::partition(
          open, [&](const TreeNode* it) { return wanted(*it) > capacity * weight(it) / weights; });
      if (content.empty()) {
        for (const TreeNode* it : open) fill(*it, capacity * weight(it) / weights);
        return;
      }
      for (const TreeNode* it : content) {
        fill(*it, wanted(*it));
        capacity = std::max(0.0, capacity - wanted(*it));
      }
      open.erase(content.begin(), content.end());
    }
  }

  static size_t task_of(const TreeNode& node) { return std::stoul(node.json["module"].get<std::string>().substr(1)); }

  std::vector<double> offered_;
  std::vector<double> granted_;
};

class RandomTree {
 public:
  explicit RandomTree(uint32_t seed) : rng_(seed) {}

  TreeNode make(int depth) {
    const uint32_t die = number(0, 9);
    if (depth == 0 || (depth < 3 && die < 3)) return testing::task(tasks_++);
    if (die < 5) {
      std::vector<TreeNode> children = below(depth);
      for (size_t i = 0; i < children.size(); ++i)
        children[i] = std::move(children[i]).level(static_cast<int>((children.size() - i) * 2));
      return testing::priority(std::move(children));
    }
    if (die < 6) return testing::rate_limit("cycles", kCapacity * number(5, 95) / 100, make(depth - 1));
    std::vector<TreeNode> children = below(depth);
    for (TreeNode& child : children) child = std::move(child).weight(number(1, 40) / 4.0);
    return testing::weighted_fair("yield", std::move(children));
  }

  // What tasks offer: more than the worker can do, nothing, or a part of its capacity.
  std::vector<double> load(std::vector<FakeWorker::Task>& tasks) {
    std::vector<double> offered;
    for (size_t i = 0; i < tasks_; ++i) {
      FakeWorker::Task task{.packet_cycles = number(400, 1600)};
      const uint32_t die = number(0, 9);
      if (die < 2) {
        offered.push_back(0);
      } else if (die < 6) {
        task.arrivals_per_ms = uint64_t{10'000} * number(1, 40) / task.packet_cycles;
        offered.push_back(static_cast<double>(task.arrivals_per_ms * task.packet_cycles) * 1000);
      } else {
        offered.push_back(kInfinite);
      }
      tasks.push_back(task);
    }
    return offered;
  }

 private:
  uint32_t number(uint32_t lo, uint32_t hi) { return lo + static_cast<uint32_t>(rng_() % (hi - lo + 1)); }

  std::vector<TreeNode> below(int depth) {
    std::vector<TreeNode> out;
    for (uint32_t n = number(1, 4); n > 0; --n) out.push_back(make(depth - 1));
    return out;
  }

  std::mt19937 rng_;
  size_t tasks_ = 0;
};

// Cycles per second that each task used over `for_cycles`, after the worker has run for a while.
std::vector<double> measured(FakeWorker& worker, Schedule& schedule, uint64_t for_cycles) {
  const std::vector<uint64_t> before = worker.cycles;
  const uint64_t began_ns = worker.now_ns;
  worker.run(schedule, for_cycles);
  std::vector<double> out;
  for (size_t i = 0; i < worker.size(); ++i)
    out.push_back(static_cast<double>(worker.cycles[i] - before[i]) * 1e9 /
                  static_cast<double>(worker.now_ns - began_ns));
  return out;
}

TEST(ScheduleFluid, RandomTreesShareAsTheFluidDoes) {
  for (uint32_t seed = 1; seed <= 2000; ++seed) {
    RandomTree random(seed);
    const TreeNode tree = random.make(3);
    std::vector<FakeWorker::Task> tasks;
    const std::vector<double> offered = random.load(tasks);
    FakeWorker worker(tasks);
    for (size_t i = 0; i < worker.size(); ++i)
      if (offered[i] == kInfinite) worker.queued(i) = kEndless;
    const auto schedule = schedule_of(worker, tree);
    worker.run(*schedule, 10 * kMs);
    // A bucket gives or keeps a millisecond.
    const bool limited = testing::tree_of(tree).dump().find("rate-limit") != std::string::npos;
    const std::vector<double> used = measured(worker, *schedule, (limited ? 120 : 30) * kMs);
    const std::vector<double> expected = Fluid(offered).pour(tree);
    for (size_t i = 0; i < worker.size(); ++i)
      ASSERT_NEAR(used[i] / kCapacity, expected[i] / kCapacity, 0.01)
          << "task " << i << " of seed " << seed << ": " << testing::tree_of(tree).dump(1);
    const auto readings = schedule->read();
    ASSERT_GE(readings.size(), 1u);
    uint64_t sum = 0;
    for (const uint64_t cycles : worker.cycles) sum += cycles;
    ASSERT_EQ(readings.front().total.cycles, sum);
  }
}

// Children of a weighted-fair policy get and lose work; in each phase those that have some share as the fluid does, as
// if there had been no other phase.
TEST(ScheduleFluid, SharesHoldWhileChildrenComeAndGo) {
  std::mt19937 rng(11);
  const TreeNode tree = testing::weighted_fair(
      "yield", {testing::task(0).weight(1), testing::task(1).weight(2),
                testing::weighted_fair("yield", {testing::task(2).weight(3), testing::task(3).weight(1)}).weight(4),
                testing::task(4).weight(0.5)});
  FakeWorker worker({{.packet_cycles = 20}, {.packet_cycles = 900}, {}, {.packet_cycles = 300}, {.packet_cycles = 40}});
  const auto schedule = schedule_of(worker, tree);
  for (int phase = 0; phase < 300; ++phase) {
    std::vector<double> offered;
    for (size_t i = 0; i < worker.size(); ++i) {
      offered.push_back(rng() % 2 == 0 ? kInfinite : 0);
      worker.queued(i) = offered.back() == 0 ? 0 : kEndless;
    }
    const std::vector<double> used = measured(worker, *schedule, 40 * kMs);
    const std::vector<double> expected = Fluid(offered).pour(tree);
    for (size_t i = 0; i < worker.size(); ++i)
      ASSERT_NEAR(used[i] / kCapacity, expected[i] / kCapacity, 0.01) << "task " << i << " in phase " << phase;
  }
}

// Under `poll` a child that offers less than its share uses up the rest in vain: all have the cycles of their weights,
// whatever any of them offers, and who offers less than its share waits for nothing.
TEST(ScheduleFluid, PollingKeepsSharesWhateverIsOffered) {
  std::mt19937 rng(17);
  for (int n = 0; n < 20; ++n) {
    std::vector<TreeNode> children;
    std::vector<FakeWorker::Task> tasks;
    std::vector<double> weights, offered;
    const size_t count = 2 + rng() % 4;
    for (size_t i = 0; i < count; ++i) {
      weights.push_back(static_cast<double>(1 + rng() % 12) / 4);
      children.push_back(testing::task(i).weight(weights.back()));
      FakeWorker::Task task{.packet_cycles = static_cast<uint32_t>(400 + rng() % 1200)};
      const uint64_t die = rng() % 3;
      if (die == 0) task.arrivals_per_ms = 10'000 * (1 + rng() % 30) / task.packet_cycles;
      offered.push_back(die == 1 ? kInfinite : static_cast<double>(task.arrivals_per_ms * task.packet_cycles) * 1000);
      tasks.push_back(task);
    }
    if (std::ranges::count(offered, kInfinite) == 0) continue;
    FakeWorker worker(tasks);
    for (size_t i = 0; i < count; ++i)
      if (offered[i] == kInfinite) worker.queued(i) = kEndless;
    const auto schedule = schedule_of(worker, testing::weighted_fair("poll", std::move(children)));
    worker.run(*schedule, 10 * kMs);
    const std::vector<uint64_t> packets_before = worker.packets;
    const std::vector<double> used = measured(worker, *schedule, 20 * kMs);
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (size_t i = 0; i < count; ++i) {
      const double share = weights[i] / sum;
      ASSERT_NEAR(used[i] / kCapacity, share, 0.01) << "task " << i << " of tree " << n;
      const auto packets = static_cast<double>(worker.packets[i] - packets_before[i]);
      const double work = packets * tasks[i].packet_cycles / 20e-3 / kCapacity;
      ASSERT_NEAR(work, std::min(share, offered[i] / kCapacity), 0.01) << "task " << i << " of tree " << n;
    }
  }
}

// Any nesting of all policies, with queues that fill at random: whatever is ready is picked, rounds end, and a policy
// has used what its children have.
TEST(ScheduleFluid, AnyNestingIsConsistent) {
  std::mt19937 rng(3);
  const auto number = [&](uint32_t lo, uint32_t hi) { return lo + static_cast<uint32_t>(rng() % (hi - lo + 1)); };
  for (int n = 0; n < 1000; ++n) {
    size_t tasks = 0;
    const std::function<TreeNode(int)> make = [&](int depth) -> TreeNode {
      const uint32_t die = depth == 0 ? 9 : number(0, 9);
      std::vector<TreeNode> children;
      if (die < 8)
        for (uint32_t c = number(die < 2 ? 1 : 0, die < 2 ? 1 : 4); c > 0; --c) children.push_back(make(depth - 1));
      if (die < 2) {
        const char* resources[] = {"cycles", "packets", "bits"};
        return testing::rate_limit(resources[number(0, 2)], number(1, 100'000) * 10'000.0, std::move(children[0]));
      }
      if (die < 4) return testing::round_robin(std::move(children));
      if (die < 6) {
        for (TreeNode& child : children) child = std::move(child).level(static_cast<int>(number(0, 2)));
        return testing::priority(std::move(children));
      }
      if (die < 8) {
        for (TreeNode& child : children) child = std::move(child).weight(number(1, 9));
        return testing::weighted_fair(die == 6 ? "poll" : "yield", std::move(children));
      }
      return testing::task(tasks++);
    };
    const TreeNode tree = make(5);
    FakeWorker worker(
        std::vector<FakeWorker::Task>(tasks, {.packet_cycles = number(10, 500), .must_poll = n % 2 == 0}));
    const auto schedule = schedule_of(worker, tree);
    for (int step = 0; step < 20; ++step) {
      for (size_t i = 0; i < tasks; ++i)
        if (rng() % 3 == 0) worker.queued(i) += number(0, 2000);
      worker.run(*schedule, 100'000);
    }
    const auto readings = schedule->read();
    const nlohmann::json nodes = testing::tree_of(tree);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i]["kind"] == "task") continue;
      UsageTotal sum;
      for (size_t c = 0; c < nodes.size(); ++c) {
        if (nodes[c]["parent"] != nodes[i]["id"]) continue;
        const UsageTotal& child = readings[c].total;
        sum.cycles += child.cycles, sum.packets += child.packets, sum.bytes += child.bytes;
        sum.runs += child.runs, sum.empty_runs += child.empty_runs, sum.empty_cycles += child.empty_cycles;
      }
      const UsageTotal& own = readings[i].total;
      ASSERT_EQ(std::tuple(own.cycles, own.packets, own.bytes, own.runs, own.empty_runs, own.empty_cycles),
                std::tuple(sum.cycles, sum.packets, sum.bytes, sum.runs, sum.empty_runs, sum.empty_cycles));
    }
    // Work is conserved: what no limit holds back does not wait while the worker is idle.
    if (nodes.dump().find("rate-limit") == std::string::npos && tasks > 0) {
      for (size_t i = 0; i < tasks; ++i) worker.queued(i) = 0;
      // Nobody lingers any more, and the turn ends in which it was polled in vain.
      worker.now_ns += 1000 * kMs;
      while (schedule->pick(worker.now_ns) != nullptr) schedule->account({.cycles = 40, .packets = 0, .bytes = 0});
      const size_t one = rng() % tasks;
      worker.queued(one) = kBatchSize;
      int tries = 0;
      Node* task = nullptr;
      while ((task = schedule->pick(worker.now_ns)) != nullptr && task->rank != one) {
        schedule->account({.cycles = 40, .packets = 0, .bytes = 0});
        ASSERT_LT(++tries, 10'000'000);
      }
      ASSERT_NE(task, nullptr) << "seed " << n << nodes.dump(1);
    }
  }
}

}  // namespace
}  // namespace orrery
