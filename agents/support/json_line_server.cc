// SPDX-License-Identifier: Apache-2.0
#include "support/json_line_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "support/clock.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr uint64_t kFlushNs = 1'000'000'000;

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    throw std::invalid_argument("socket path must have 1 to 107 bytes: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int make_socket(int flags) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (fd < 0) throw_errno("socket");
  return fd;
}

// Removes a socket file that no process serves any more; leaves anything else where it is.
void remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return;
    throw_errno(path);
  }
  if (!S_ISSOCK(info.st_mode)) throw std::system_error(EEXIST, std::generic_category(), path + " is not a socket");
  const Fd probe(make_socket(SOCK_NONBLOCK));
  const int result = connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (result == 0 || errno == EAGAIN) throw std::system_error(EADDRINUSE, std::generic_category(), path);
  if (errno != ECONNREFUSED && errno != ENOENT) throw_errno(path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) throw_errno(path);
}

json error_response(const json& id, const char* code, const std::string& detail) {
  return {{"id", id}, {"error", {{"code", code}, {"detail", detail}, {"pointer", nullptr}}}};
}

struct Client {
  Fd fd;
  std::string input;
  size_t scanned = 0;  // bytes of input known to hold no newline
  std::string output;
  size_t sent = 0;
  bool peer_done = false;  // no more requests will come
  bool closing = false;    // to be closed as soon as the output is sent
  bool dead = false;

  bool sending() const { return sent < output.size(); }
};

}  // namespace

struct JsonLineServer::Impl {
  JsonLineServerOptions options;
  Handler handler;
  Fd listener;
  Fd stop_event;
  dev_t device = 0;
  ino_t inode = 0;
  std::vector<std::unique_ptr<Client>> clients;

  Impl(JsonLineServerOptions o, Handler h) : options(std::move(o)), handler(std::move(h)) {
    const sockaddr_un address = socket_address(options.path);
    stop_event = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (stop_event.get() < 0) throw_errno("eventfd");
    remove_stale(options.path, address);
    listener = Fd(make_socket(SOCK_NONBLOCK));
    // The mode of the socket file comes from that of the socket, so that nobody can connect before a chmod.
    if (fchmod(listener.get(), 0600) != 0) throw_errno("fchmod");
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw_errno(options.path);
    struct stat info {};
    if (lstat(options.path.c_str(), &info) != 0) throw_errno(options.path);
    device = info.st_dev;
    inode = info.st_ino;
    if (listen(listener.get(), 16) != 0) throw_errno(options.path);
  }

  // Removes the socket file unless another server has put its own there.
  ~Impl() {
    struct stat info {};
    if (lstat(options.path.c_str(), &info) == 0 && info.st_dev == device && info.st_ino == inode)
      unlink(options.path.c_str());
  }

  std::string answer(std::string_view line) {
    json request = json::parse(line, nullptr, false);
    json response;
    json id = nullptr;
    if (request.is_discarded()) {
      response = error_response(id, "bad-request", "not JSON");
    } else if (!request.is_object()) {
      response = error_response(id, "bad-request", "a request must be an object");
    } else {
      if (const auto it = request.find("id"); it != request.end() && it->is_number_integer()) id = *it;
      try {
        response = handler(request);
      } catch (const std::exception& e) {
        response = error_response(id, "internal", e.what());
      }
    }
    std::string text = response.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > options.line_limit_bytes)
      text = error_response(id, "internal", "the response exceeds the line limit").dump();
    text.push_back('\n');
    return text;
  }

  // Answers complete lines while the client takes the answers.
  void work(Client& c) {
    size_t start = 0;
    while (!c.closing && !c.dead && !c.sending()) {
      const size_t newline = c.input.find('\n', std::max(start, c.scanned));
      if (newline == std::string::npos) {
        c.scanned = c.input.size();
        if (c.input.size() - start > options.line_limit_bytes) refuse_long_line(c);
        break;
      }
      if (newline - start > options.line_limit_bytes) {
        refuse_long_line(c);
        break;
      }
      const std::string_view line(c.input.data() + start, newline - start);
      start = newline + 1;
      c.scanned = start;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      c.output = answer(line);
      c.sent = 0;
      send_some(c);
    }
    c.input.erase(0, start);
    c.scanned -= std::min(c.scanned, start);
    if (c.peer_done && !c.sending() && c.input.find('\n') == std::string::npos) c.dead = true;
    if (c.closing && !c.sending()) c.dead = true;
  }

  void refuse_long_line(Client& c) {
    c.output = error_response(nullptr, "bad-request",
                              "a line may hold at most " + std::to_string(options.line_limit_bytes) + " bytes")
                   .dump() +
               "\n";
    c.sent = 0;
    c.closing = true;
    send_some(c);
  }

  void send_some(Client& c) {
    while (c.sending()) {
      const ssize_t n = send(c.fd.get(), c.output.data() + c.sent, c.output.size() - c.sent, MSG_NOSIGNAL);
      if (n < 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) c.dead = true;
        return;
      }
      c.sent += static_cast<size_t>(n);
    }
    c.output = {};
    c.sent = 0;
  }

  void receive(Client& c) {
    char buffer[65536];
    const ssize_t n = recv(c.fd.get(), buffer, sizeof(buffer), 0);
    if (n > 0) {
      c.input.append(buffer, static_cast<size_t>(n));
    } else if (n == 0) {
      c.peer_done = true;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      c.dead = true;
    }
  }

  void accept_clients() {
    for (;;) {
      Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.get() < 0) return;
      if (clients.size() >= options.max_clients) continue;
      clients.push_back(std::make_unique<Client>());
      clients.back()->fd = std::move(fd);
    }
  }

  void serve() {
    std::vector<pollfd> fds;
    for (;;) {
      fds.clear();
      fds.push_back({stop_event.get(), POLLIN, 0});
      fds.push_back({listener.get(), POLLIN, 0});
      for (const auto& c : clients)
        fds.push_back({c->fd.get(), static_cast<short>(c->sending() ? POLLOUT : c->peer_done ? 0 : POLLIN), 0});
      if (poll(fds.data(), fds.size(), -1) < 0) {
        if (errno == EINTR) continue;
        throw_errno("poll");
      }
      if (fds[0].revents != 0) return;
      for (size_t i = 2; i < fds.size(); ++i) {
        Client& c = *clients[i - 2];
        const short events = fds[i].revents;
        if (events == 0) continue;
        if (c.sending()) {
          if ((events & (POLLERR | POLLHUP)) != 0 && (events & POLLOUT) == 0) c.dead = true;
          send_some(c);
        } else {
          receive(c);
        }
        work(c);
        if (stopped()) return;
      }
      std::erase_if(clients, [](const auto& c) { return c->dead; });
      if (fds[1].revents != 0) accept_clients();
    }
  }

  bool stopped() const {
    pollfd p{stop_event.get(), POLLIN, 0};
    return poll(&p, 1, 0) > 0;
  }

  void flush() {
    const uint64_t end = monotonic_ns() + kFlushNs;
    std::vector<pollfd> fds;
    for (;;) {
      std::erase_if(clients, [](const auto& c) { return c->dead || !c->sending(); });
      const uint64_t now = monotonic_ns();
      if (clients.empty() || now >= end) break;
      fds.clear();
      for (const auto& c : clients) fds.push_back({c->fd.get(), POLLOUT, 0});
      if (poll(fds.data(), fds.size(), static_cast<int>((end - now) / 1'000'000 + 1)) < 0 && errno != EINTR) break;
      for (size_t i = 0; i < fds.size(); ++i)
        if (fds[i].revents != 0) send_some(*clients[i]);
    }
    clients.clear();
  }
};

JsonLineServer::JsonLineServer(JsonLineServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}

JsonLineServer::~JsonLineServer() = default;

void JsonLineServer::run() {
  impl_->serve();
  impl_->flush();
}

void JsonLineServer::stop() noexcept {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(impl_->stop_event.get(), &one, sizeof(one));
}

}  // namespace orrery
