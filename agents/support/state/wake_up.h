// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace orrery::state {

// Wakes a thread that waits for file descriptors, and costs those who have work for it nothing while it is awake.
//
// The sleeper calls announce(), looks once more whether there is work, waits for fd() unless there is, and calls
// awake(). Others queue their work (SpscRing::commit) and call notify().
class WakeUp {
 public:
  WakeUp() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (event_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~WakeUp() { close(event_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  // Readable when the sleeper was called.
  int fd() const { return event_; }

  void announce() { sleeping_.store(true, std::memory_order_seq_cst); }

  void awake() {
    sleeping_.store(false, std::memory_order_seq_cst);
    // Also of a caller that was late: it wakes the next sleep once for nothing.
    eventfd_t count = 0;
    eventfd_read(event_, &count);
  }

  // One system call when the sleeper was asleep, and none otherwise.
  void notify() {
    if (!sleeping_.load(std::memory_order_seq_cst)) return;
    if (sleeping_.exchange(false, std::memory_order_seq_cst)) eventfd_write(event_, 1);
  }

 private:
  int event_;
  std::atomic<bool> sleeping_{false};
};

}  // namespace orrery::state
