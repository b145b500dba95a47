// SPDX-License-Identifier: Apache-2.0
#include "support/cross_thread_call.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace orrery {

CrossThreadCall::CrossThreadCall() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

CrossThreadCall::~CrossThreadCall() {
  ::close(event_);
}

void CrossThreadCall::call(std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  auto done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw std::runtime_error("the thread that does the work is ending");
    waiting_ = std::move(task);
  }
  eventfd_write(event_, 1);
  done.get();
}

void CrossThreadCall::serve() {
  eventfd_t count = 0;
  eventfd_read(event_, &count);
  std::packaged_task<void()> task;
  {
    const std::lock_guard lock(mutex_);
    task = std::exchange(waiting_, {});
  }
  if (task.valid()) task();
}

void CrossThreadCall::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  serve();
}

}  // namespace orrery
