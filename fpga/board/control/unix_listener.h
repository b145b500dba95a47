// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery::board {

// A non-blocking unix stream socket that listens on a path, with mode 0600. Replaces a stale socket file; removes its
// file at the end.
class UnixListener {
 public:
  // Throws std::system_error, and std::invalid_argument for a path that is too long.
  explicit UnixListener(std::string path);
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  int fd() const { return fd_; }
  // A new connection, non-blocking; -1 if none is waiting.
  int accept();

 private:
  std::string path_;
  int fd_;
};

}  // namespace orrery::board
