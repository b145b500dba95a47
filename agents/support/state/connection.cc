// SPDX-License-Identifier: Apache-2.0
#include "support/state/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "support/state/resp_command.h"

namespace orrery::state {
namespace {

constexpr uint64_t kFirstBackOffNs = 20'000'000;
constexpr uint64_t kLongestBackOffNs = 1'000'000'000;
constexpr size_t kReadBytes = size_t{16} << 10;  // free when a read begins
constexpr size_t kFirstInBytes = size_t{64} << 10;
constexpr size_t kKeptOutBytes = size_t{1} << 20;  // a larger buffer is given back when it was sent
constexpr uint64_t kProbesInBound = 4;             // so many probes are sent within the stale bound
constexpr int64_t kLibraryVersion = 1;

std::string error_text(int error) {
  return std::generic_category().message(error);
}

std::string shortened(std::string_view text) {
  return std::string(text.substr(0, kMaxRefusalBytes));
}

}  // namespace

Connection::Connection(ConnectionOwner& owner, const ConnectionOptions& options, Endpoint endpoint, uint8_t index,
                       int epoll)
    : owner_(owner),
      options_(options),
      endpoint_(std::move(endpoint)),
      index_(index),
      epoll_(epoll),
      back_off_ns_(kFirstBackOffNs),
      jitter_(std::random_device()()) {}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

bool Connection::has_room(size_t command_bytes) const {
  return in_flight_ < options_.max_in_flight && in_flight_bytes_ + command_bytes <= options_.max_in_flight_bytes;
}

bool Connection::stuck(uint64_t now_ns, uint64_t limit_ns) const {
  return !expected_.empty() && expected_.front().sent_ns + limit_ns < now_ns;
}

void Connection::expect(Kind kind, uint64_t now_ns, Ticket ticket, size_t bytes) {
  expected_.push_back({.kind = kind, .ticket = ticket, .bytes = static_cast<uint32_t>(bytes), .sent_ns = now_ns});
}

void Connection::send(Ticket ticket, std::string_view command, uint64_t now_ns) {
  out_.append(command);
  expect(Kind::kCommand, now_ns, ticket, command.size());
  ++in_flight_;
  in_flight_bytes_ += command.size();
}

void Connection::send_asking(Ticket ticket, std::string_view command, uint64_t now_ns) {
  append_command(out_, {"ASKING"});
  expect(Kind::kAsking, now_ns);
  send(ticket, command, now_ns);
}

void Connection::watch(uint32_t events) {
  if (watched_ == events) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = index_;
  epoll_ctl(epoll_, watched_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd_, &event);
  watched_ = events;
}

void Connection::open(uint64_t now_ns) {
  opened_ns_ = now_ns;
  const SocketAddress address = socket_address_of(endpoint_);
  fd_ = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return close("no socket: " + error_text(errno), now_ns);
  if (!endpoint_.host.empty()) {
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  }
  state_ = State::kConnecting;
  if (connect(fd_, address.get(), address.length) == 0) {
    watch(EPOLLIN);
    return greet(now_ns);
  }
  if (errno != EINPROGRESS) return close(error_text(errno), now_ns);
  watch(EPOLLOUT);
}

void Connection::finish_connecting(uint64_t now_ns) {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return close(error_text(error), now_ns);
  watch(EPOLLIN);
  greet(now_ns);
}

void Connection::greet(uint64_t now_ns) {
  state_ = State::kGreeting;
  if (options_.password.empty()) {
    append_command(out_, {"HELLO", "3", "SETNAME", options_.client_name});
  } else {
    append_command(out_, {"HELLO", "3", "AUTH", options_.user.empty() ? "default" : options_.user, options_.password,
                          "SETNAME", options_.client_name});
  }
  expect(Kind::kHello, now_ns);
  append_command(out_, {"CLIENT", "TRACKING", "ON"});
  expect(Kind::kTracking, now_ns);
  append_command(out_, {"FCALL_RO", "state_version", "0"});
  expect(Kind::kVersion, now_ns);
  probe(now_ns);
}

void Connection::probe(uint64_t now_ns) {
  if (options_.cluster) {
    append_command(out_, {"CLUSTER", "INFO"});
  } else {
    append_command(out_, {"PING"});
  }
  expect(Kind::kProbe, now_ns);
  probes_sent_ns_.push_back(now_ns);
  next_probe_ns_ = now_ns + options_.stale_bound_ns / kProbesInBound;
}

void Connection::on_event(uint32_t events, uint64_t now_ns) {
  if (state_ == State::kConnecting) return finish_connecting(now_ns);
  if ((events & EPOLLOUT) != 0) blocked_ = false;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && fd_ >= 0) receive(now_ns);
}

void Connection::flush(uint64_t now_ns) {
  if (state_ < State::kGreeting || blocked_) return;
  while (out_begin_ < out_.size()) {
    const ssize_t sent = ::send(fd_, out_.data() + out_begin_, out_.size() - out_begin_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return close(error_text(errno), now_ns);
    if (sent >= 0) out_begin_ += static_cast<size_t>(sent);
    if (out_begin_ < out_.size()) {
      blocked_ = true;
      // What was sent need not be kept until the rest is.
      if (out_begin_ > kFirstInBytes) out_.erase(0, std::exchange(out_begin_, 0));
      return watch(EPOLLIN | EPOLLOUT);
    }
  }
  out_.clear();
  out_begin_ = 0;
  if (out_.capacity() > kKeptOutBytes) out_.shrink_to_fit();
  watch(EPOLLIN);
}

void Connection::make_room() {
  if (in_begin_ == in_end_) in_begin_ = in_end_ = 0;
  if (in_.size() - in_end_ >= kReadBytes) return;
  if (in_begin_ > 0) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= std::exchange(in_begin_, 0);
  }
  // Bounded, because an answer is.
  if (in_.size() - in_end_ < kReadBytes) in_.resize(std::max(2 * in_.size(), kFirstInBytes));
}

void Connection::receive(uint64_t now_ns) {
  while (fd_ >= 0) {
    make_room();
    const size_t wanted = in_.size() - in_end_;
    const ssize_t got = recv(fd_, in_.data() + in_end_, wanted, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) return close(error_text(errno), now_ns);
    if (got == 0) return close("the store has closed the connection", now_ns);
    in_end_ += static_cast<size_t>(got);
    digest(now_ns);
    if (static_cast<size_t>(got) < wanted) return;
  }
}

void Connection::digest(uint64_t now_ns) {
  while (in_begin_ < in_end_) {
    const Bytes wire(in_.data() + in_begin_, in_end_ - in_begin_);
    const RespParser::State state = parser_.parse(wire);
    if (state == RespParser::State::kIncomplete) return;
    if (state == RespParser::State::kFlawed)
      return close("what the store says is no RESP3: " + std::string(parser_.flaw()), now_ns);
    handle(parser_.value(wire), now_ns);
    if (fd_ < 0) return;
    in_begin_ += parser_.size();
    parser_.reset();
  }
}

void Connection::handle(const RespValue& value, uint64_t now_ns) {
  if (value.type() == RespType::kPush) return handle_push(value);
  if (expected_.empty()) {
    // The store says why before it closes a connection that it does not want.
    const bool error = value.type() == RespType::kError;
    return close(error ? shortened(value.text()) : "the store answers what nobody has asked", now_ns);
  }
  const Expected expected = expected_.front();
  expected_.pop_front();
  switch (expected.kind) {
    case Kind::kCommand:
      --in_flight_;
      in_flight_bytes_ -= expected.bytes;
      return owner_.answered(*this, expected.ticket, value);
    case Kind::kProbe:
      return handle_probe(expected, value, now_ns);
    case Kind::kAsking:
      return;
    case Kind::kHello:
    case Kind::kTracking:
    case Kind::kVersion:
      return handle_greeting(expected, value, now_ns);
  }
}

void Connection::handle_push(const RespValue& push) {
  if (push.size() == 2 && push.at(0).text() == "invalidate") owner_.invalidated(*this, push.at(1));
}

void Connection::handle_greeting(const Expected& expected, const RespValue& answer, uint64_t now_ns) {
  const bool error = answer.type() == RespType::kError;
  switch (expected.kind) {
    case Kind::kHello:
      if (error) close("the store refuses RESP3: " + shortened(answer.text()), now_ns);
      break;
    case Kind::kTracking:
      if (error) close("the store refuses client-side caching: " + shortened(answer.text()), now_ns);
      break;
    default:
      if (error) {
        close("the store lacks the functions of orrery_state: " + shortened(answer.text()), now_ns);
      } else if (answer.type() != RespType::kInteger || answer.integer() != kLibraryVersion) {
        close("the store has another version of the functions of orrery_state: " + shortened(answer.text()), now_ns);
      }
  }
}

void Connection::handle_probe(const Expected& expected, const RespValue& answer, uint64_t now_ns) {
  if (answer.type() == RespType::kError) return close(shortened(answer.text()), now_ns);
  const bool as_expected =
      options_.cluster ? answer.text().find("cluster_state:") != std::string_view::npos : answer.text() == "PONG";
  if (!as_expected) return close("the store answers a probe with something else", now_ns);
  probes_sent_ns_.pop_front();
  sound_ = !options_.cluster || answer.text().find("cluster_state:ok") != std::string_view::npos;
  if (state_ == State::kGreeting) {
    state_ = State::kReady;
    reason_.clear();
    back_off_ns_ = kFirstBackOffNs;
    ++established_;
    owner_.connection_ready(*this);
  }
  if (sound_) owner_.connection_alive(*this, expected.sent_ns + options_.stale_bound_ns);
}

void Connection::tick(uint64_t now_ns) {
  switch (state_) {
    case State::kWaiting:
      if (now_ns >= retry_ns_) open(now_ns);
      return;
    case State::kConnecting:
    case State::kGreeting:
      if (now_ns >= opened_ns_ + options_.connect_limit_ns) close("no answer while connecting", now_ns);
      return;
    case State::kReady:
      if (!probes_sent_ns_.empty() && now_ns >= probes_sent_ns_.front() + options_.silence_limit_ns)
        return close("the store has stopped answering", now_ns);
      if (now_ns >= next_probe_ns_) probe(now_ns);
      return;
  }
}

uint64_t Connection::next_event_ns() const {
  switch (state_) {
    case State::kWaiting:
      return retry_ns_;
    case State::kConnecting:
    case State::kGreeting:
      return opened_ns_ + options_.connect_limit_ns;
    default:
      if (probes_sent_ns_.empty()) return next_probe_ns_;
      return std::min(next_probe_ns_, probes_sent_ns_.front() + options_.silence_limit_ns);
  }
}

void Connection::close(std::string reason, uint64_t now_ns) {
  const bool was_ready = state_ == State::kReady;
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  state_ = State::kWaiting;
  sound_ = true;
  blocked_ = false;
  watched_ = 0;
  reason_ = std::move(reason);
  retry_ns_ = now_ns + back_off_ns_ * 3 / 4 + jitter_() % (back_off_ns_ / 2);
  back_off_ns_ = std::min(2 * back_off_ns_, kLongestBackOffNs);
  out_.clear();
  out_begin_ = in_begin_ = in_end_ = 0;
  parser_.reset();
  probes_sent_ns_.clear();
  in_flight_ = in_flight_bytes_ = 0;
  const std::deque<Expected> unanswered = std::exchange(expected_, {});
  if (was_ready) owner_.connection_lost(*this);
  for (const Expected& expected : unanswered)
    if (expected.kind == Kind::kCommand) owner_.unanswered(*this, expected.ticket);
}

}  // namespace orrery::state
