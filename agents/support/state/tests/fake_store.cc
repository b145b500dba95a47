// SPDX-License-Identifier: Apache-2.0
#include "fake_store.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "support/state/resp_parser.h"

namespace orrery::state::testing {
namespace {

constexpr int kPollMs = 5;

void send_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

// Whether the other side is still there.
bool forward(int from, int to) {
  char buffer[65536];
  const ssize_t got = recv(from, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got <= 0) return false;
  send_text(to, {buffer, static_cast<size_t>(got)});
  return true;
}

bool is_readable(const pollfd& event) {
  return (event.revents & (POLLIN | POLLHUP | POLLERR)) != 0;
}

}  // namespace

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

LoopbackListener::LoopbackListener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 || listen(fd_, 16) != 0 ||
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw std::runtime_error("no listening socket");
  port_ = ntohs(address.sin_port);
}

LoopbackListener::~LoopbackListener() {
  close(fd_);
}

FakeStore::FakeStore(Answer answer) : answer_(std::move(answer)), thread_([this] { run(); }) {}

FakeStore::~FakeStore() {
  stopping_ = true;
  thread_.join();
  close_all();
}

void FakeStore::set_version(std::string on_wire) {
  const std::lock_guard lock(mutex_);
  version_ = std::move(on_wire);
}

void FakeStore::send_all(std::string_view on_wire) {
  const std::lock_guard lock(mutex_);
  for (const Peer& peer : peers_) send_text(peer.fd, on_wire);
}

void FakeStore::answer_owed(const std::vector<std::string>& on_wire) {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_) {
    auto next = on_wire.begin();
    for (auto& answer : peer.held)
      if (!answer && next != on_wire.end()) answer = *next++;
    for (; !peer.held.empty() && peer.held.front(); peer.held.pop_front()) send_text(peer.fd, *peer.held.front());
  }
}

void FakeStore::close_all() {
  const std::lock_guard lock(mutex_);
  for (const Peer& peer : std::exchange(peers_, {})) close(peer.fd);
}

void FakeStore::run() {
  while (!stopping_) {
    std::vector<pollfd> events{{listener_.fd(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      for (const Peer& peer : peers_) events.push_back({peer.fd, POLLIN, 0});
    }
    poll(events.data(), events.size(), kPollMs);
    const std::lock_guard lock(mutex_);
    for (size_t i = 1; i < events.size(); ++i)
      for (Peer& peer : peers_)
        if (peer.fd == events[i].fd && is_readable(events[i])) read_from(peer);
    std::erase_if(peers_, [](const Peer& peer) { return peer.fd < 0; });
    if (!is_readable(events[0])) continue;
    const int fd = accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    peers_.push_back({.fd = fd});
    ++accepted_;
  }
}

void FakeStore::read_from(Peer& peer) {
  char buffer[65536];
  const ssize_t got = recv(peer.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got <= 0) {
    close(std::exchange(peer.fd, -1));
    return;
  }
  peer.in.append(buffer, static_cast<size_t>(got));
  for (;;) {
    RespParser parser;
    const Bytes wire = as_bytes(peer.in);
    if (parser.parse(wire) != RespParser::State::kComplete) return;
    Command command;
    parser.value(wire).for_each([&](const RespValue& part) { command.emplace_back(part.text()); });
    peer.in.erase(0, parser.size());
    answer_to(peer, command);
  }
}

void FakeStore::answer_to(Peer& peer, const Command& command) {
  if (command.empty()) return;
  std::string answer = own_answer(command);
  const bool probe = command[0] == "PING" || (command[0] == "CLUSTER" && command.back() == "INFO");
  if (probe && !answers_probes_) return;
  const bool known = !answer.empty();
  if (!known) answer = answer_(command);
  if (answer.empty()) {
    peer.held.emplace_back(std::nullopt);
  } else if (!peer.held.empty()) {
    peer.held.emplace_back(std::move(answer));
  } else {
    send_text(peer.fd, answer);
  }
  if (!known) ++asked_;
}

// Empty for what it does not know.
std::string FakeStore::own_answer(const Command& command) {
  if (command[0] == "HELLO") return "%1\r\n+proto\r\n:3\r\n";
  if (command[0] == "CLIENT") return "+OK\r\n";
  if (command[0] == "FCALL_RO") return version_;
  if (command[0] == "PING") return "+PONG\r\n";
  if (command[0] == "CLUSTER" && command.size() == 2 && command[1] == "INFO") return bulk("cluster_state:ok\r\n");
  return {};
}

Relay::Relay(Endpoint store) : store_(std::move(store)), thread_([this] { run(); }) {}

Relay::~Relay() {
  stopping_ = true;
  thread_.join();
  for (const Pair& pair : pairs_) {
    close(pair.near);
    close(pair.far);
  }
}

void Relay::accept_one() {
  const int near = accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
  if (near < 0) return;
  const SocketAddress address = socket_address_of(store_);
  const int far = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(far, address.get(), address.length) == 0) {
    pairs_.push_back({near, far});
  } else {
    close(near);
    close(far);
  }
}

void Relay::run() {
  while (!stopping_) {
    const bool holds = holds_;
    std::vector<pollfd> events{{listener_.fd(), POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      events.push_back({pair.near, POLLIN, 0});
      events.push_back({holds ? -1 : pair.far, POLLIN, 0});
    }
    poll(events.data(), events.size(), kPollMs);
    for (size_t i = 0; i < (events.size() - 1) / 2; ++i) {
      Pair& pair = pairs_[i];
      const bool there = (!is_readable(events[1 + 2 * i]) || forward(pair.near, pair.far)) &&
                         (!is_readable(events[2 + 2 * i]) || forward(pair.far, pair.near));
      if (there) continue;
      close(std::exchange(pair.near, -1));
      close(std::exchange(pair.far, -1));
    }
    std::erase_if(pairs_, [](const Pair& pair) { return pair.near < 0; });
    if (is_readable(events[0])) accept_one();
  }
}

}  // namespace orrery::state::testing
