// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery::board {

// A non-blocking unix stream socket that listens under a path, with mode 0600. A socket file that nobody serves any
// more is replaced; the file is removed in the end.
class UnixListener {
 public:
  // Throws std::system_error, std::invalid_argument for a path that is too long.
  explicit UnixListener(std::string path);
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  int fd() const { return fd_; }
  // A new connection, non-blocking; -1 when none waits.
  int accept();

 private:
  std::string path_;
  int fd_;
};

}  // namespace orrery::board
