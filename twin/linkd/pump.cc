// SPDX-License-Identifier: Apache-2.0
#include "linkd/pump.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "support/clock.h"

namespace orrery::linkd {

Pump::Pump() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Pump::~Pump() {
  close(wake_);
}

void Pump::run() {
  // Otherwise the kernel may wake the thread 50 us late.
  prctl(PR_SET_TIMERSLACK, 1);
  while (true) {
    do_tasks();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    links_.work(monotonic_ns());
    wait();
  }
}

void Pump::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
}

void Pump::between_batches(const std::function<void(LinkTable&)>& task) {
  std::packaged_task<void(LinkTable&)> packaged(task);
  auto done = packaged.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(packaged));
  }
  wake();
  done.get();
}

void Pump::do_tasks() {
  std::deque<std::packaged_task<void(LinkTable&)>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) task(links_);
}

void Pump::wait() {
  pollfd sources[] = {{links_.poll_fd(), POLLIN, 0}, {wake_, POLLIN, 0}};
  std::optional<timespec> limit;
  if (const auto next_ns = links_.next_ns()) {
    const uint64_t now_ns = monotonic_ns();
    const uint64_t ns = *next_ns > now_ns ? *next_ns - now_ns : 0;
    limit = timespec{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  }
  ppoll(sources, 2, limit ? &*limit : nullptr, nullptr);
  uint64_t count = 0;
  if ((sources[1].revents & POLLIN) != 0 && read(wake_, &count, sizeof(count)) < 0 && errno != EAGAIN)
    throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Pump::wake() {
  const uint64_t one = 1;
  if (write(wake_, &one, sizeof(one)) < 0 && errno != EAGAIN)
    throw std::system_error(errno, std::generic_category(), "eventfd");
}

}  // namespace orrery::linkd
