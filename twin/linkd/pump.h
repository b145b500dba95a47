// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <mutex>

#include "linkd/link_table.h"

namespace orrery::linkd {

// One thread for all links.
class Pump {
 public:
  Pump();
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // Forwards frames on the calling thread until stop().
  void run();
  void stop();

  // Runs a function on the links in the pump's thread, between two batches, and waits for it; rethrows its exceptions.
  // Precondition: run() is running, or will be.
  void between_batches(const std::function<void(LinkTable&)>& task);

 private:
  void do_tasks();
  void wait();
  void wake();

  LinkTable links_;
  int wake_;
  std::mutex mutex_;  // guards the two below
  std::deque<std::packaged_task<void(LinkTable&)>> tasks_;
  bool stopping_ = false;
};

}  // namespace orrery::linkd
