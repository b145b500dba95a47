// SPDX-License-Identifier: Apache-2.0
// What each policy promises, on tasks whose costs are given and a clock that only they move.
#include <gtest/gtest.h>

#include <random>

#include "schedule_fixture.h"

namespace orrery {
namespace {

using testing::FakeWorker;
using testing::kEndless;
using testing::kMs;
using testing::priority;
using testing::rate_limit;
using testing::round_robin;
using testing::schedule_of;
using testing::task;
using testing::TreeNode;
using testing::weighted_fair;

constexpr uint64_t kSecond = 1'000 * kMs;

UsageTotal total_of(const Schedule& schedule, const std::string& id) {
  for (const ScheduleReading& reading : schedule.read())
    if (reading.node->id() == id) return reading.total;
  ADD_FAILURE() << "no node " << id;
  return {};
}

std::vector<size_t> order_of(FakeWorker& worker, Schedule& schedule, size_t runs) {
  worker.keeps_order = true;
  while (worker.order.size() < runs) worker.run(schedule, 1);
  worker.order.resize(runs);
  return worker.order;
}

FakeWorker backlogged(std::vector<FakeWorker::Task> tasks) {
  FakeWorker worker(std::move(tasks));
  for (size_t i = 0; i < worker.size(); ++i) worker.queued(i) = kEndless;
  return worker;
}

TEST(RoundRobinPolicy, RunsEachChildInTurnWhateverItCosts) {
  FakeWorker worker = backlogged({{.packet_cycles = 1}, {.packet_cycles = 1000}, {.packet_cycles = 7}});
  const auto schedule = schedule_of(worker, round_robin({task(0), task(1), task(2)}));
  EXPECT_EQ(order_of(worker, *schedule, 7), (std::vector<size_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(RoundRobinPolicy, APolicyHasOneRunInItsTurnAndIdleChildrenNone) {
  FakeWorker worker = backlogged(std::vector<FakeWorker::Task>(5));
  worker.queued(4) = 0;
  const auto schedule =
      schedule_of(worker, round_robin({round_robin({task(3), task(1)}), round_robin({}), task(4), task(0)}));
  EXPECT_EQ(order_of(worker, *schedule, 6), (std::vector<size_t>{3, 0, 1, 0, 3, 0}));
}

TEST(RoundRobinPolicy, WhatMustBePolledIsPolledOnceATurn) {
  FakeWorker worker({{}, {.must_poll = true}, {.must_poll = true}});
  worker.queued(0) = kEndless;
  const auto schedule = schedule_of(worker, round_robin({task(0), task(1), task(2)}));
  EXPECT_EQ(order_of(worker, *schedule, 6), (std::vector<size_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(total_of(*schedule, "t1").runs, total_of(*schedule, "t1").empty_runs);
  worker.queued(0) = 0;
  while (schedule->pick(worker.now_ns) != nullptr) schedule->account({.cycles = 40, .packets = 0, .bytes = 0});
  int polls = 0;
  while (schedule->pick(worker.now_ns) != nullptr) {
    schedule->account({.cycles = 40, .packets = 0, .bytes = 0});
    ASSERT_LE(++polls, 2) << "the round does not end";
  }
  EXPECT_EQ(polls, 2);
}

// Nobody is ever further from its share than by a run of each.
TEST(WeightedFairPolicy, SharesCyclesHoweverLongRunsAre) {
  for (const char* when_idle : {"yield", "poll"}) {
    FakeWorker worker = backlogged({{.packet_cycles = 31}, {.packet_cycles = 2000}, {.packet_cycles = 311}});
    const auto schedule =
        schedule_of(worker, weighted_fair(when_idle, {task(0).weight(1), task(1).weight(2), task(2).weight(5)}));
    const double shares[] = {1.0 / 8, 2.0 / 8, 5.0 / 8};
    uint64_t sum = 0;
    for (int step = 0; step < 2000; ++step) {
      worker.run(*schedule, 50'000);
      sum = worker.cycles[0] + worker.cycles[1] + worker.cycles[2];
      for (size_t i = 0; i < 3; ++i)
        ASSERT_NEAR(static_cast<double>(worker.cycles[i]), shares[i] * static_cast<double>(sum), 2 * 32 * 2000.0);
    }
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(static_cast<double>(worker.cycles[i]) / static_cast<double>(sum) / shares[i], 1, 0.005);
  }
}

TEST(WeightedFairPolicy, UnderYieldAnIdleChildLeavesItsShareAndSavesNone) {
  FakeWorker worker = backlogged({{.packet_cycles = 100}, {.packet_cycles = 700}, {.packet_cycles = 300}});
  const auto schedule =
      schedule_of(worker, weighted_fair("yield", {task(0).weight(1), task(1).weight(3), task(2).weight(4)}));
  worker.queued(2) = 0;
  worker.run(*schedule, 200 * kMs);
  EXPECT_EQ(worker.cycles[2], 0u);
  EXPECT_NEAR(static_cast<double>(worker.cycles[1]) / static_cast<double>(worker.cycles[0]), 3, 0.01);
  worker.queued(2) = kEndless;
  const auto before = worker.cycles;
  worker.run(*schedule, 20 * kMs);
  EXPECT_NEAR(static_cast<double>(worker.cycles[2] - before[2]), 10.0 * kMs, 0.1 * kMs) << "half of the time";
}

TEST(WeightedFairPolicy, UnderPollAnIdleChildUsesUpItsShare) {
  for (const bool must_poll : {false, true}) {
    FakeWorker worker({{.packet_cycles = 500}, {.must_poll = must_poll}});
    worker.queued(0) = kEndless;
    const auto schedule = schedule_of(worker, weighted_fair("poll", {task(0).weight(1), task(1).weight(3)}));
    worker.run(*schedule, 200 * kMs);
    EXPECT_NEAR(static_cast<double>(worker.cycles[1]) / static_cast<double>(worker.cycles[0]), 3, 0.01);
    EXPECT_EQ(total_of(*schedule, "t1").empty_runs, total_of(*schedule, "t1").runs);
    // It polls what it had at all times, so it has saved nothing.
    worker.queued(1) = kEndless;
    const auto before = worker.cycles;
    worker.run(*schedule, 20 * kMs);
    EXPECT_NEAR(static_cast<double>(worker.cycles[1] - before[1]), 15.0 * kMs, 0.1 * kMs);
  }
}

TEST(WeightedFairPolicy, WhenAllAreIdleNobodyRuns) {
  for (const char* when_idle : {"yield", "poll"}) {
    FakeWorker worker(std::vector<FakeWorker::Task>(2));
    const auto schedule = schedule_of(worker, weighted_fair(when_idle, {task(0).weight(1), task(1).weight(1)}));
    EXPECT_EQ(schedule->pick(worker.now_ns), nullptr) << when_idle;
  }
}

// The ratio of the weights is 10^18: one run of the light task is worth hours of the heavy one.
TEST(WeightedFairPolicy, BearsWeightsFarApart) {
  FakeWorker worker = backlogged({{.packet_cycles = 1000}, {.packet_cycles = 1000}, {.packet_cycles = 1000}});
  const auto schedule =
      schedule_of(worker, weighted_fair("yield", {task(0).weight(1e-15), task(1).weight(1e3), task(2).weight(1e3)}));
  worker.run(*schedule, 500 * kMs);
  EXPECT_LE(total_of(*schedule, "t0").runs, 1u);
  EXPECT_NEAR(static_cast<double>(worker.cycles[1]) / static_cast<double>(worker.cycles[2]), 1, 0.001);
  worker.queued(1) = worker.queued(2) = 0;
  worker.run(*schedule, 100 * kMs);
  worker.queued(1) = worker.queued(2) = kEndless;
  const auto before = worker.cycles;
  worker.run(*schedule, 100 * kMs);
  EXPECT_NEAR(static_cast<double>(worker.cycles[1] - before[1]) / static_cast<double>(worker.cycles[2] - before[2]), 1,
              0.01)
      << "what the light task used alone is not held against anybody";
}

TEST(PriorityPolicy, ALowerLevelRunsOnlyWhileAllAboveAreIdle) {
  std::mt19937 rng(7);
  FakeWorker worker(
      {{.arrivals_per_ms = 1000}, {.arrivals_per_ms = 2500, .must_poll = true}, {.packet_cycles = 50}, {}});
  worker.queued(2) = worker.queued(3) = kEndless;
  const auto schedule =
      schedule_of(worker, priority({task(3).level(9), task(2).level(4), task(0).level(0), task(1).level(2)}));
  worker.keeps_order = true;
  bool polled_in_vain = false;
  for (int step = 0; step < 20'000; ++step) {
    const bool first = worker.queued(0) != 0;
    worker.order.clear();
    const uint64_t second = worker.packets[1];
    worker.run(*schedule, 1);
    const size_t ran = worker.order.front();
    ASSERT_EQ(ran == 0, first) << "step " << step;
    if (ran > 1) {
      ASSERT_TRUE(polled_in_vain) << "step " << step;
    }
    polled_in_vain = ran == 1 && worker.packets[1] == second;
    if (rng() % 500 == 0) worker.queued(0) += 100;
  }
  EXPECT_EQ(worker.cycles[3], 0u) << "the lowest level starves";
  EXPECT_GT(worker.cycles[2], 0u);
  EXPECT_GT(worker.cycles[1], 0u);
}

TEST(PriorityPolicy, ChildrenOfOneLevelTakeTurns) {
  FakeWorker worker = backlogged(std::vector<FakeWorker::Task>(3));
  const auto schedule = schedule_of(worker, priority({task(0).level(1), task(1).level(0), task(2).level(0)}));
  EXPECT_EQ(order_of(worker, *schedule, 4), (std::vector<size_t>{1, 2, 1, 2}));
}

TEST(PriorityPolicy, AHeldBackLevelLetsTheNextRun) {
  FakeWorker worker = backlogged({{.packet_cycles = 100}, {.packet_cycles = 100}});
  const auto schedule =
      schedule_of(worker, priority({rate_limit("cycles", 0.25 * kSecond, task(0)).level(0), task(1).level(1)}));
  worker.run(*schedule, 10 * kMs);
  const auto before = worker.cycles;
  worker.run(*schedule, 1000 * kMs);
  EXPECT_NEAR(static_cast<double>(worker.cycles[0] - before[0]), 0.25 * kSecond, 0.005 * 0.25 * kSecond);
  EXPECT_NEAR(static_cast<double>(worker.cycles[1] - before[1]), 0.75 * kSecond, 0.005 * kSecond);
}

TEST(RateLimitPolicy, KeepsItsRateOverASecond) {
  struct Case {
    const char* resource;
    double per_second;
    double of_packet;
  };
  // Batches of 32 packets of 1,000 cycles and 250 bytes.
  for (const auto& [resource, per_second, of_packet] : std::vector<Case>{{"packets", 50'000, 1},
                                                                         {"packets", 700'000, 1},
                                                                         {"bits", 1e8, 2000},
                                                                         {"bits", 1.7e9, 2000},
                                                                         {"cycles", 3e7, 1000},
                                                                         {"cycles", 9.5e8, 1000}}) {
    FakeWorker worker = backlogged({{.packet_cycles = 1000, .packet_bytes = 250}});
    const auto schedule = schedule_of(worker, rate_limit(resource, per_second, task(0)));
    worker.run(*schedule, kSecond);
    EXPECT_NEAR(static_cast<double>(worker.packets[0]) * of_packet / per_second, 1, 0.005) << resource << per_second;
  }
}

TEST(RateLimitPolicy, SavesAMillisecondAndNoMore) {
  FakeWorker worker(std::vector<FakeWorker::Task>{{.packet_cycles = 1}});
  const auto schedule = schedule_of(worker, rate_limit("packets", 1e6, task(0)));
  worker.run(*schedule, 500 * kMs);
  worker.queued(0) = kEndless;
  worker.run(*schedule, kMs);
  EXPECT_LE(worker.packets[0], 2 * 1000u + kBatchSize);
  EXPECT_GE(worker.packets[0], 2 * 1000u - kBatchSize);
}

// A limit below a batch a millisecond: the batch overdraws, and the debt is paid before the next.
TEST(RateLimitPolicy, PaysItsDebt) {
  FakeWorker worker = backlogged({{.packet_cycles = 10}});
  const auto schedule = schedule_of(worker, rate_limit("packets", 100, task(0)));
  worker.run(*schedule, 10 * kSecond);
  EXPECT_NEAR(static_cast<double>(worker.packets[0]), 1000, 2 * kBatchSize);
}

TEST(RateLimitPolicy, TellsWhenItMayRunAgain) {
  FakeWorker worker = backlogged(std::vector<FakeWorker::Task>(3));
  const auto schedule = schedule_of(
      worker, round_robin({rate_limit("packets", 1000, task(0)), rate_limit("packets", 100, task(1)), task(2)}));
  worker.queued(2) = 0;
  while (schedule->pick(worker.now_ns) != nullptr) schedule->account({.cycles = 1, .packets = 32, .bytes = 3200});
  Waits waits;
  schedule->collect_waits(waits);
  EXPECT_EQ(waits.tasks.size(), 1u);
  EXPECT_EQ(waits.held.size(), 2u);
  // The bucket had one packet, so 31 are owed.
  EXPECT_NEAR(static_cast<double>(waits.due_ns - worker.now_ns), 31e6, 2);
  EXPECT_EQ(schedule->pick(waits.due_ns - 2), nullptr);
  EXPECT_NE(schedule->pick(waits.due_ns), nullptr);
}

TEST(Schedule, TakesOverDeficitsAndBucketsWhenItIsReplacedAfterEveryRun) {
  FakeWorker worker = backlogged({{.packet_cycles = 31}, {.packet_cycles = 2000}, {.packet_cycles = 300}});
  const TreeNode tree = rate_limit("cycles", 0.5 * kSecond,
                                   weighted_fair("yield", {task(0).weight(1), task(1).weight(2), task(2).weight(5)}));
  auto schedule = schedule_of(worker, tree);
  worker.run(*schedule, 10 * kMs);
  const uint64_t before = worker.cycles[0] + worker.cycles[1] + worker.cycles[2];
  for (const uint64_t end = worker.now_ns + 40 * kMs; worker.now_ns < end;) {
    worker.run(*schedule, 1);
    auto next = schedule_of(worker, tree);
    next->prepare_adopt(*schedule);
    next->adopt();
    schedule = std::move(next);
  }
  const uint64_t sum = worker.cycles[0] + worker.cycles[1] + worker.cycles[2];
  EXPECT_NEAR(static_cast<double>(sum - before), 20.0 * kMs, 0.005 * 20 * kMs);
  const double shares[] = {1.0 / 8, 2.0 / 8, 5.0 / 8};
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(worker.cycles[i]) / static_cast<double>(sum) / shares[i], 1, 0.01);
  EXPECT_EQ(total_of(*schedule, "root").cycles, sum);
}

TEST(Schedule, KeepsFiguresOfNodesWithTheSameIdAndKind) {
  FakeWorker worker = backlogged(std::vector<FakeWorker::Task>(3));
  const auto old = schedule_of(worker, round_robin({task(0), priority({task(1).level(0)})}));
  worker.run(*old, kMs);
  const auto next = schedule_of(worker, round_robin({task(0), round_robin({task(2)})}));
  next->prepare_adopt(*old);
  next->adopt();
  EXPECT_EQ(total_of(*next, "root").cycles, total_of(*old, "root").cycles);
  EXPECT_EQ(total_of(*next, "t0").runs, total_of(*old, "t0").runs);
  EXPECT_EQ(total_of(*next, "root.1").runs, 0u) << "another policy";
  EXPECT_EQ(total_of(*next, "t2").runs, 0u);
}

}  // namespace
}  // namespace orrery
