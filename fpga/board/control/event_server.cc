// SPDX-License-Identifier: Apache-2.0
#include "board/control/event_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace orrery::board {
namespace {

void watch(int epoll, int operation, int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll, operation, fd, &event) != 0) throw std::system_error(errno, std::generic_category(), "epoll");
}

}  // namespace

EventServer::EventServer(const std::string& path) : listener_(path), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  watch(epoll_, EPOLL_CTL_ADD, listener_.fd(), EPOLLIN);
}

EventServer::~EventServer() {
  for (const auto& [fd, client] : clients_) close(fd);
  close(epoll_);
}

void EventServer::serve() {
  epoll_event events[16];
  const int n = epoll_wait(epoll_, events, 16, 0);
  for (int i = 0; i < n; ++i) {
    const int fd = events[i].data.fd;
    if (fd == listener_.fd()) {
      accept_all();
      continue;
    }
    const auto it = clients_.find(fd);
    if (it == clients_.end()) continue;
    // Subscribers send nothing: input is ignored, except the end of the connection.
    char ignored[4096];
    const bool readable = (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
    const ssize_t got = readable ? recv(fd, ignored, sizeof(ignored), 0) : 1;
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      drop(fd);
    } else if ((events[i].events & EPOLLOUT) != 0) {
      send_some(fd, it->second);
    }
  }
}

void EventServer::accept_all() {
  for (int fd = -1; (fd = listener_.accept()) >= 0;) {
    if (clients_.size() >= kMaxClients) {
      close(fd);
      continue;
    }
    clients_[fd];
    watch(epoll_, EPOLL_CTL_ADD, fd, EPOLLIN);
  }
}

std::string EventServer::told_loss(Client& client) {
  if (client.lost == 0) return {};
  return nlohmann::json{{"lost", std::exchange(client.lost, 0)}}.dump() + '\n';
}

void EventServer::publish(const nlohmann::json& event) {
  if (clients_.empty()) return;
  const std::string line = event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  for (auto& [fd, client] : clients_) {
    // Nothing overtakes the news of a loss.
    if (client.lost > 0 || client.output.size() + line.size() > kMaxClientBytes) {
      ++client.lost;
      ++lost_;
      continue;
    }
    const bool idle = client.output.empty();
    client.output += line;
    if (idle) send_some(fd, client);
  }
}

void EventServer::send_some(int fd, Client& client) {
  while (!client.output.empty()) {
    const ssize_t n = send(fd, client.output.data(), client.output.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;  // full; the end of a broken connection arrives as a separate event
    client.output.erase(0, static_cast<size_t>(n));
    if (client.output.empty()) client.output = told_loss(client);
  }
  watch(epoll_, EPOLL_CTL_MOD, fd, client.output.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void EventServer::drop(int fd) {
  clients_.erase(fd);
  close(fd);
}

}  // namespace orrery::board
