// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "core/graph.h"
#include "core/pass.h"
#include "core/waker.h"

namespace orrery {

// A thread that runs its tasks in the order of its scheduler tree, each to completion, and sleeps in the kernel when
// all have been idle.
class Worker {
 public:
  // `cpu`: where it is pinned, or -1. Runs until the destructor.
  Worker(uint32_t index, int cpu);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Waker& waker() { return waker_; }

  // While parked, the worker touches no module and the caller may. park() returns at the end of the running round. A
  // worker that waits since it was parked before runs a round first: packets flow between two pauses, however close.
  void park();
  void resume();

  // Takes effect on resume(); null: no tasks. Precondition: parked.
  void set_graph(Graph* graph);

  // Precondition: parked.
  uint64_t busy_cycles() const { return pass_.busy_cycles(); }

  // CPU time of the thread.
  uint64_t cpu_ns() const;

 private:
  void run(uint32_t index, int cpu);
  void wait_while_parked(std::unique_lock<std::mutex>& running);
  bool run_round();
  uint32_t run_due_timers(uint64_t now_ns);
  void sleep(std::unique_lock<std::mutex>& running);
  bool plan_sleep(uint64_t now_ns, uint64_t& timeout_ns);

  Waker waker_;
  Pass pass_;
  const Share* share_ = nullptr;  // of the graph; null: no tasks
  std::vector<pollfd> waits_;
  Waits asleep_for_;

  std::mutex running_;  // held by the worker while it runs tasks, by the control thread while it is parked
  std::mutex parking_;  // guards the condition below
  std::condition_variable resumed_;
  std::atomic<bool> park_requested_{false};
  std::atomic<bool> waits_to_run_{false};  // from when it would go on until the end of its next round
  std::atomic<bool> stop_{false};
  uint32_t index_;
  std::thread thread_;
};

}  // namespace orrery
