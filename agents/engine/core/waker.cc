// SPDX-License-Identifier: Apache-2.0
#include "core/waker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace orrery {

Waker::Waker() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Waker::~Waker() {
  ::close(fd_);
}

void Waker::clear() {
  eventfd_t value = 0;
  eventfd_read(fd_, &value);
}

void Waker::wake() {
  eventfd_write(fd_, 1);
}

}  // namespace orrery
