// SPDX-License-Identifier: Apache-2.0
// A worker's scheduler tree (Alpine 5.4.2, Fig. 5.2; Berkeley BESS): its leaves are tasks, its inner nodes policies
// that choose among what is below them. A new policy is one file here and one line in policies.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace orrery {

struct Node;

// What one run of a task has used.
struct Usage {
  uint64_t cycles;
  uint64_t packets;  // 0: the task had nothing to do
  uint64_t bytes;
};

// What the runs of a task, or of all tasks below a policy, have used since the node exists.
struct UsageTotal {
  uint64_t cycles = 0;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t runs = 0;
  uint64_t empty_runs = 0;    // of these, without a packet
  uint64_t empty_cycles = 0;  // spent on those

  void add(const Usage& usage) {
    cycles += usage.cycles;
    packets += usage.packets;
    bytes += usage.bytes;
    ++runs;
    if (usage.packets != 0) return;
    ++empty_runs;
    empty_cycles += usage.cycles;
  }
};

// A turn ends with a run that takes packets, or when nothing is left to run. A task that was polled in vain is not
// picked again in the same turn.
struct Instant {
  uint64_t now_ns;  // CLOCK_MONOTONIC
  uint64_t turn;
  bool lingers = false;  // nothing is left to run: policies that poll may, for as long as they linger
};

// What can give a worker something to do that has nothing to do now.
struct Waits {
  std::vector<Node*> tasks;  // packets at one of these
  std::vector<Node*> held;   // not packets at these, which a rate limit holds back,
  uint64_t due_ns = 0;       // but this time; 0: never by time
};

// A task or a policy, for one worker. pick() and account() in turn.
class ScheduleNode {
 public:
  // `id`: of the node in the tree; empty for a node that the tree does not show.
  explicit ScheduleNode(std::string id) : id_(std::move(id)) {}
  virtual ~ScheduleNode() = default;
  ScheduleNode(const ScheduleNode&) = delete;
  ScheduleNode& operator=(const ScheduleNode&) = delete;

  const std::string& id() const { return id_; }
  const UsageTotal& total() const { return total_; }

  // Whether pick() would find a task.
  virtual bool ready(const Instant& at) const = 0;

  // Whether rate limits hold back everything below, however much there is to do.
  virtual bool held(const Instant& at) const = 0;

  // The task to run next; null when none below may run in this turn: all are idle or held back.
  virtual Node* pick(const Instant& at) = 0;

  // A task to run although it is idle; null when all are held back.
  virtual Node* poll(const Instant& at) = 0;

  // What the task that was picked or polled last has used.
  void account(const Usage& usage) {
    total_.add(usage);
    charge(usage);
  }

  virtual void collect_waits(Waits& waits) const = 0;
  // All tasks below, as held back.
  virtual void collect_held(Waits& waits) const = 0;

  // Hand-over from the node of the same id and kind in the old tree. `prepare_adopt` changes this node only, while the
  // old one runs; `adopt`, with the worker parked, allocates nothing and cannot fail.
  virtual void prepare_adopt(const ScheduleNode& /*old*/) {}
  virtual void adopt(const ScheduleNode& old) noexcept { total_ = old.total_; }

 protected:
  virtual void charge(const Usage& usage) = 0;

 private:
  std::string id_;
  UsageTotal total_;
};

}  // namespace orrery
