// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace orrery {

// Lets other threads end a worker's sleep. The worker announces its sleep, looks for work once more and only then
// sleeps; a producer makes its work visible and then looks for a sleeper: one of the two always sees the other.
class Waker {
 public:
  Waker();  // throws std::system_error
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // For the worker.
  int fd() const { return fd_; }
  void announce_sleep() { asleep_.store(true, std::memory_order_seq_cst); }
  void announce_awake() { asleep_.store(false, std::memory_order_seq_cst); }
  void clear();

  // For everybody else.
  // `wanted`: whether this is a reason to wake it, as it stands once the work is visible.
  void wake_if_asleep(const std::atomic<bool>& wanted) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst) && wanted.load(std::memory_order_seq_cst)) wake();
  }
  void wake();

 private:
  int fd_;
  std::atomic<bool> asleep_{false};
};

}  // namespace orrery
