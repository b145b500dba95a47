// SPDX-License-Identifier: Apache-2.0
#include "board/control/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace orrery::board {
namespace {

constexpr int kBacklog = 16;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    throw std::invalid_argument("socket path must have 1 to 107 bytes: " + path);
  path.copy(address.sun_path, path.size());
  return address;
}

// Whether the path is a socket on which nobody listens.
bool stale(int probe, const sockaddr_un& address) {
  struct stat info {};
  return lstat(address.sun_path, &info) == 0 && S_ISSOCK(info.st_mode) &&
         connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 && errno == ECONNREFUSED;
}

}  // namespace

UnixListener::UnixListener(std::string path)
    : path_(std::move(path)), fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  try {
    const sockaddr_un address = address_of(path_);
    if (stale(fd_, address)) unlink(address.sun_path);
    if (fchmod(fd_, 0600) != 0 || bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(fd_, kBacklog) != 0)
      throw std::system_error(errno, std::generic_category(), path_);
  } catch (...) {
    close(fd_);
    throw;
  }
}

UnixListener::~UnixListener() {
  close(fd_);
  unlink(path_.c_str());
}

int UnixListener::accept() {
  return accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

}  // namespace orrery::board
