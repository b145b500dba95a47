// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

namespace orrery::board {

// A reply that is sent once, possibly later, on the board's thread.
class Reply {
 public:
  void give(nlohmann::json result) { promise_->set_value(std::move(result)); }
  void fail(std::exception_ptr error) { promise_->set_exception(std::move(error)); }

 private:
  friend class Mailbox;
  std::shared_ptr<std::promise<nlohmann::json>> promise_ = std::make_shared<std::promise<nlohmann::json>>();
};

// Passes requests from the control thread to the board's thread, which owns all state.
class Mailbox {
 public:
  using Task = std::function<void(Reply&)>;

  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Readable when serve() has work.
  int fd() const { return event_; }

  // On the control thread: waits for the reply. Rethrows the task's exception.
  nlohmann::json call(Task task);

  // On the board's thread: runs all waiting tasks. An exception counts as the task's reply.
  void serve();

  // Refuses all waiting and future requests.
  void close();

 private:
  struct Letter {
    Task task;
    Reply reply;
  };

  int event_;
  std::mutex mutex_;
  std::deque<Letter> letters_;
  bool closed_ = false;
};

}  // namespace orrery::board
