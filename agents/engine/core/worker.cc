// SPDX-License-Identifier: Apache-2.0
#include "core/worker.h"

#include <pthread.h>
#include <rte_lcore.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "support/clock.h"

namespace orrery {

namespace {

// Empty rounds before the worker sleeps.
constexpr uint32_t kSpinRounds = 64;
// Longest sleep, so that a wake-up that gets lost costs no more than this.
constexpr uint64_t kMaxSleepNs = 100'000'000;
// A sleep is not worth its system call below this.
constexpr uint64_t kMinSleepNs = 2'000;

}  // namespace

Worker::Worker(uint32_t index, int cpu) : index_(index), thread_([this, index, cpu] { run(index, cpu); }) {}

Worker::~Worker() {
  stop_.store(true);
  waker_.wake();
  thread_.join();
}

void Worker::park() {
  waits_to_run_.wait(true);
  park_requested_.store(true);
  running_.lock();
}

void Worker::resume() {
  {
    std::lock_guard guard(parking_);
    park_requested_.store(false);
  }
  running_.unlock();
  resumed_.notify_all();
}

void Worker::set_graph(Graph* graph) {
  pass_.set_graph(graph);
  share_ = graph == nullptr ? nullptr : &graph->shares[index_];
  // It may be asleep on the file descriptors of the old graph's ports.
  waker_.wake();
}

uint64_t Worker::cpu_ns() const {
  clockid_t clock{};
  timespec t{};
  if (pthread_getcpuclockid(const_cast<std::thread&>(thread_).native_handle(), &clock) != 0) return 0;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

void Worker::run(uint32_t index, int cpu) {
  pthread_setname_np(pthread_self(), ("worker-" + std::to_string(index)).c_str());
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
  }
  // With an identity of its own the thread gets a packet cache of the pool.
  rte_thread_register();
  std::unique_lock running(running_);
  uint32_t idle_rounds = 0;
  pass_.resume();
  while (!stop_.load(std::memory_order_relaxed)) {
    if (park_requested_.load(std::memory_order_relaxed)) {
      wait_while_parked(running);
      pass_.resume();
    }
    const bool worked = run_round();
    if (waits_to_run_.load(std::memory_order_relaxed)) {
      waits_to_run_.store(false);
      waits_to_run_.notify_one();
    }
    if (worked) {
      idle_rounds = 0;
    } else if (++idle_rounds >= kSpinRounds) {
      sleep(running);
      pass_.resume();
    }
  }
  running.unlock();
  rte_thread_unregister();
}

void Worker::wait_while_parked(std::unique_lock<std::mutex>& running) {
  waits_to_run_.store(true);
  running.unlock();
  {
    std::unique_lock parking(parking_);
    resumed_.wait(parking, [this] { return !park_requested_.load(); });
  }
  running.lock();
}

bool Worker::run_round() {
  if (share_ == nullptr) return false;
  Schedule& schedule = *share_->schedule;
  uint64_t work = 0;
  for (size_t runs = schedule.runs_a_round(); runs > 0; --runs) {
    const uint64_t now_ns = pass_.mark_ns();
    Node* task = schedule.pick(now_ns);
    if (task == nullptr) {
      pass_.resume();
      break;
    }
    const Usage usage = pass_.run(*task, now_ns);
    schedule.account(usage);
    work += usage.packets;
  }
  if (!share_->timed.empty()) work += run_due_timers(pass_.mark_ns());
  return work != 0;
}

// How many were due.
uint32_t Worker::run_due_timers(uint64_t now_ns) {
  uint32_t due = 0;
  for (Node* timed : share_->timed) {
    const uint64_t due_ns = timed->module->due_ns();
    if (due_ns == 0 || due_ns > now_ns) continue;
    pass_.run_timer(*timed);
    ++due;
  }
  return due;
}

bool Worker::plan_sleep(uint64_t now_ns, uint64_t& timeout_ns) {
  waits_.assign(1, {waker_.fd(), POLLIN, 0});
  timeout_ns = kMaxSleepNs;
  if (share_ == nullptr) return true;
  const auto sleep_until = [&](uint64_t due_ns) {
    if (due_ns != 0) timeout_ns = std::min(timeout_ns, due_ns > now_ns ? due_ns - now_ns : 0);
  };
  for (const Node* timed : share_->timed) sleep_until(timed->module->due_ns());
  asleep_for_.tasks.clear();
  asleep_for_.held.clear();
  asleep_for_.due_ns = 0;
  share_->schedule->collect_waits(asleep_for_);
  for (Node* task : asleep_for_.held) static_cast<TaskModule&>(*task->module).wakes_worker.store(false);
  for (Node* task : asleep_for_.tasks) static_cast<TaskModule&>(*task->module).wakes_worker.store(true);
  sleep_until(asleep_for_.due_ns);
  for (const Node* task : asleep_for_.tasks) {
    const Wakeup wakeup = static_cast<const TaskModule&>(*task->module).wakeup();
    if (wakeup.now) return false;
    if (wakeup.fd >= 0) waits_.push_back({wakeup.fd, POLLIN, 0});
    sleep_until(wakeup.due_ns);
  }
  return timeout_ns >= kMinSleepNs;
}

void Worker::sleep(std::unique_lock<std::mutex>& running) {
  uint64_t timeout_ns = 0;
  waker_.announce_sleep();
  const bool sleeps = plan_sleep(monotonic_ns(), timeout_ns) && !stop_.load() && !park_requested_.load();
  if (sleeps) {
    const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000u),
                           .tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000u)};
    running.unlock();
    ppoll(waits_.data(), waits_.size(), &timeout, nullptr);
    if (waits_[0].revents != 0) waker_.clear();
    waits_to_run_.store(true);
    if (park_requested_.load()) {
      std::unique_lock parking(parking_);
      resumed_.wait(parking, [this] { return !park_requested_.load(); });
    }
    running.lock();
    // An interface that went down leaves an error at its socket, which would end every further sleep at once.
    for (const pollfd& wait : waits_) {
      if ((wait.revents & POLLERR) == 0) continue;
      int error = 0;
      socklen_t length = sizeof(error);
      getsockopt(wait.fd, SOL_SOCKET, SO_ERROR, &error, &length);
    }
  }
  waker_.announce_awake();
}

}  // namespace orrery
