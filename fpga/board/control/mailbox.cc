// SPDX-License-Identifier: Apache-2.0
#include "board/control/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace orrery::board {

Mailbox::Mailbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Mailbox::~Mailbox() {
  ::close(event_);
}

nlohmann::json Mailbox::call(Task task) {
  Letter letter{std::move(task), {}};
  auto answer = letter.reply.promise_->get_future();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw std::runtime_error("the board is shutting down");
    letters_.push_back(std::move(letter));
  }
  eventfd_write(event_, 1);
  return answer.get();
}

void Mailbox::serve() {
  eventfd_t count = 0;
  eventfd_read(event_, &count);
  std::deque<Letter> letters;
  {
    const std::lock_guard lock(mutex_);
    letters.swap(letters_);
  }
  for (Letter& letter : letters) {
    try {
      letter.task(letter.reply);
    } catch (...) {
      letter.reply.fail(std::current_exception());
    }
  }
}

void Mailbox::close() {
  std::deque<Letter> letters;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    letters.swap(letters_);
  }
  for (Letter& letter : letters)
    letter.reply.fail(std::make_exception_ptr(std::runtime_error("the board is shutting down")));
}

}  // namespace orrery::board
