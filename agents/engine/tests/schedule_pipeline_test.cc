// SPDX-License-Identifier: Apache-2.0
// Alpine's pipelines (Alpine 5.5) under overload in virtual time: NFs that hold the core for 200 us a packet, in runs
// of 32 packets, with queues that lose what they have no room for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "schedule_fixture.h"

namespace orrery {
namespace {

using testing::FakeTask;
using testing::kMs;
using testing::rate_limit;
using testing::task;
using testing::TreeNode;
using testing::weighted_fair;

constexpr uint64_t kNfNs = 200'000;
// Longer than on an engine, and next to nothing beside a run of 6.4 ms.
constexpr uint64_t kPollNs = 10'000;
constexpr uint64_t kIdleNs = 20'000;
constexpr size_t kQueueRoom = 1024;
constexpr int kOut = -1;

// Cycles that a packet of each class takes in a task, 0 for a class that does not pass it, and the task behind it.
struct Stage {
  std::vector<uint64_t> cycles;
  std::vector<int> next;
  size_t worker = 0;
};

// Workers with a clock of one cycle a nanosecond each. Every class offers as much to task 0; what its queue has no room
// for is lost.
class Pipeline {
 public:
  Pipeline(std::vector<Stage> steps, const std::vector<TreeNode>& trees, uint64_t class_packets_per_ms)
      : granted(steps[0].cycles.size()),
        delivered(steps[0].cycles.size()),
        steps_(std::move(steps)),
        queues_(steps_.size()),
        arrivals_per_ms_(class_packets_per_ms),
        shell_(std::vector<testing::FakeWorker::Task>(steps_.size())) {
    for (const TreeNode& tree : trees) workers_.push_back({testing::schedule_of(shell_, tree), kStartNs});
  }

  void run(uint64_t for_ns) {
    const uint64_t end_ns = clock() + for_ns;
    while (clock() < end_ns) step(*std::ranges::min_element(workers_, {}, &Worker::now_ns));
  }

  // Sum of the differences between the shares that classes got and were to get (Alpine 5.5.2).
  double error(const std::vector<double>& wanted) const {
    double got = 0, asked = 0, sum = 0;
    for (size_t c = 0; c < wanted.size(); ++c) got += granted[c], asked += wanted[c];
    for (size_t c = 0; c < wanted.size(); ++c) sum += std::abs(granted[c] / got - wanted[c] / asked);
    return sum;
  }

  std::vector<double> granted;      // cycles by class; those of a poll are of the class that passes the task
  std::vector<uint64_t> delivered;  // packets by class

 private:
  static constexpr uint64_t kStartNs = 1'000'000'000;
  struct Worker {
    std::unique_ptr<Schedule> schedule;
    uint64_t now_ns;
  };

  uint64_t clock() const { return std::ranges::min_element(workers_, {}, &Worker::now_ns)->now_ns; }

  void put(int at, uint8_t packet_class) {
    if (queues_[at].size() < kQueueRoom) queues_[at].push_back(packet_class);
    tell(at);
  }
  void tell(size_t at) { static_cast<FakeTask&>(*shell_.nodes()[at]->module).queued = queues_[at].size(); }

  // Classes take turns.
  void arrive(uint64_t now_ns) {
    const uint64_t due = (now_ns - kStartNs) * arrivals_per_ms_ * granted.size() / kMs;
    for (; arrived_ < due; ++arrived_) put(0, static_cast<uint8_t>(arrived_ % granted.size()));
  }

  void step(Worker& worker) {
    arrive(worker.now_ns);
    Node* picked = worker.schedule->pick(worker.now_ns);
    if (picked == nullptr) {
      worker.now_ns += kIdleNs;
      return;
    }
    const size_t at = picked->rank;
    const Stage& step = steps_[at];
    uint64_t cycles = 0, packets = 0;
    for (; packets < kBatchSize && !queues_[at].empty(); ++packets) {
      const uint8_t c = queues_[at].front();
      queues_[at].pop_front();
      cycles += step.cycles[c];
      granted[c] += static_cast<double>(step.cycles[c]);
      if (step.next[c] == kOut) {
        ++delivered[c];
      } else {
        put(step.next[c], c);
      }
    }
    tell(at);
    if (packets == 0) {
      cycles = kPollNs;
      const auto own = std::ranges::find_if(step.cycles, [](uint64_t it) { return it != 0; });
      granted[own - step.cycles.begin()] += kPollNs;
    }
    worker.now_ns += cycles;
    worker.schedule->account({.cycles = cycles, .packets = packets, .bytes = 100 * packets});
  }

  std::vector<Stage> steps_;
  std::vector<std::deque<uint8_t>> queues_;
  uint64_t arrivals_per_ms_;
  uint64_t arrived_ = 0;
  testing::FakeWorker shell_;  // of the nodes
  std::vector<Worker> workers_;
};

// The firewall of Alpine's Table 5.3: a, then b, c or d, for classes that are to have cycles in the ratio 2:1:3. A task
// of a and c, whose packets cost two NFs; b and d have more cycles than packets.
std::vector<Stage> firewall(size_t worker_of_b, size_t worker_of_d) {
  return {{.cycles = {kNfNs, 2 * kNfNs, kNfNs}, .next = {1, kOut, 2}},
          {.cycles = {kNfNs, 0, 0}, .next = {kOut, kOut, kOut}, .worker = worker_of_b},
          {.cycles = {0, 0, kNfNs}, .next = {kOut, kOut, kOut}, .worker = worker_of_d}};
}

// Over ten seconds, as an objective is judged; the first second is not counted.
double error_of(Pipeline& pipeline) {
  pipeline.run(1000 * kMs);
  std::ranges::fill(pipeline.granted, 0);
  std::ranges::fill(pipeline.delivered, 0);
  pipeline.run(10'000 * kMs);
  return pipeline.error({2, 1, 3});
}

TEST(SchedulePipeline, OneWorkerKeepsRatiosWithinAPercent) {
  Pipeline pipeline(firewall(0, 0),
                    {weighted_fair("poll", {task(0).weight(2), task(1).weight(1.5), task(2).weight(2.5)})}, 2);
  EXPECT_LT(error_of(pipeline), 0.01);
  const auto [least, most] = std::ranges::minmax(pipeline.delivered);
  EXPECT_GT(least, 0.9 * most) << "the first NF serves all alike";
}

// The worker of b and d has packets for a quarter of its time, and none now and then.
TEST(SchedulePipeline, TwoWorkersKeepRatiosWithinFourPercentThoughOneIsOftenIdle) {
  Pipeline pipeline(
      firewall(1, 1),
      {rate_limit("cycles", 0.5e9, task(0)), weighted_fair("poll", {task(1).weight(1.5), task(2).weight(2.5)})}, 2);
  EXPECT_LT(error_of(pipeline), 0.04);
}

// What is never asked for more than arrives needs no polling: a, and behind it ratios near to what it lets through.
TEST(SchedulePipeline, TwoWorkersKeepRatiosWithoutPolling) {
  // Services of 1, 0.5, 0.25 and 0.75 behind a: cycles of 1.5, 1.25 and 1.75.
  std::vector<Stage> steps{{.cycles = {kNfNs, kNfNs, kNfNs}, .next = {1, 2, 3}},
                           {.cycles = {kNfNs, 0, 0}, .next = {kOut, kOut, kOut}, .worker = 1},
                           {.cycles = {0, kNfNs, 0}, .next = {kOut, kOut, kOut}, .worker = 1},
                           {.cycles = {0, 0, kNfNs}, .next = {kOut, kOut, kOut}, .worker = 1}};
  Pipeline pipeline(
      std::move(steps),
      {task(0),
       rate_limit("cycles", 0.5e9, weighted_fair("yield", {task(1).weight(2), task(2).weight(1), task(3).weight(3)}))},
      2);
  pipeline.run(1000 * kMs);
  std::ranges::fill(pipeline.granted, 0);
  pipeline.run(10'000 * kMs);
  EXPECT_LT(pipeline.error({1.5, 1.25, 1.75}), 0.04);
}

// A worker that lingers is not busy for ever.
TEST(SchedulePipeline, PollingEndsWithTheTraffic) {
  testing::FakeWorker worker({{}, {}});
  const auto schedule = testing::schedule_of(worker, weighted_fair("poll", {task(0).weight(1), task(1).weight(3)}));
  worker.queued(0) = kBatchSize;
  worker.run(*schedule, 1000 * kMs);
  const uint64_t used = worker.cycles[0] + worker.cycles[1];
  EXPECT_NEAR(static_cast<double>(used) / kMs, 100, 1);
  EXPECT_NEAR(static_cast<double>(worker.cycles[1]) / static_cast<double>(used), 0.75, 0.01);
  Waits waits;
  schedule->collect_waits(waits);
  EXPECT_EQ(waits.due_ns, 0u) << "it may sleep until a packet comes";
}

}  // namespace
}  // namespace orrery
