// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <future>
#include <mutex>

namespace orrery {

// Has work of one thread done by another, which waits for file descriptors.
class CrossThreadCall {
 public:
  CrossThreadCall();
  ~CrossThreadCall();
  CrossThreadCall(const CrossThreadCall&) = delete;
  CrossThreadCall& operator=(const CrossThreadCall&) = delete;

  // Readable when serve() has something to do.
  int fd() const { return event_; }

  // Waits until the other thread has done the work. What the work throws is thrown here. For one thread at a time.
  // Throws std::runtime_error after close().
  void call(std::function<void()> work);

  // On the other thread: does what waits.
  void serve();

  // On the other thread: does what waits and refuses all that comes.
  void close();

 private:
  int event_;
  std::mutex mutex_;
  std::packaged_task<void()> waiting_;
  bool closed_ = false;
};

}  // namespace orrery
