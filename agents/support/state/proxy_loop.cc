// SPDX-License-Identifier: Apache-2.0
#include "support/state/proxy_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "support/clock.h"

namespace orrery::state {
namespace {

constexpr uint64_t kWakeId = kMaxConnections;  // in the epoll set, beside the connections' indices
constexpr uint64_t kLongestWaitNs = 1'000'000'000;
constexpr uint64_t kNsPerMs = 1'000'000;
constexpr size_t kPullAtOnce = 256;  // requests of a channel before the next one's turn

int new_epoll() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return fd;
}

// Nobody reads its notices any more, and what was posted before is on its way.
bool is_done(const std::shared_ptr<Channel>& channel) {
  return channel->detached.load() && channel->requests.empty();
}

ConnectionOptions connection_options(const ProxyOptions& options) {
  return {.client_name = "orrery-" + options.name,
          .user = options.store.user,
          .password = options.store.password,
          .cluster = options.store.cluster,
          .stale_bound_ns = options.stale_bound_ms * kNsPerMs,
          .silence_limit_ns = options.silence_limit_ms * kNsPerMs,
          .max_in_flight = options.max_in_flight,
          .max_in_flight_bytes = options.max_in_flight_bytes};
}

}  // namespace

ProxyLoop::ProxyLoop(const ProxyOptions& options, std::shared_ptr<ProxyShared> shared)
    : is_cluster_(options.store.cluster),
      deadline_ns_(options.deadline_ms * kNsPerMs),
      max_waiting_(options.max_in_flight),
      shared_(std::move(shared)),
      epoll_(new_epoll()),
      cluster_(*this, options.store, connection_options(options), epoll_),
      now_ns_(monotonic_ns()) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, shared_->wake.fd(), &event);
}

ProxyLoop::~ProxyLoop() {
  close(epoll_);
}

void ProxyLoop::run() {
  for (;;) {
    serve_once();
    if (stopping_.load()) break;
    wait_for_events();
  }
  give_up_all();
}

void ProxyLoop::stop() {
  stopping_.store(true);
  shared_->wake.notify();
}

void ProxyLoop::add(std::shared_ptr<Channel> channel) {
  {
    const std::lock_guard lock(mutex_);
    all_channels_.push_back(std::move(channel));
  }
  channels_changed_.store(true);
  shared_->wake.notify();
}

void ProxyLoop::update_channels() {
  if (channels_changed_.exchange(false)) {
    const std::lock_guard lock(mutex_);
    channels_ = all_channels_;
  }
  if (std::ranges::any_of(channels_, is_done)) remove_detached();
}

void ProxyLoop::remove_detached() {
  for (const auto& channel : channels_) {
    if (!is_done(channel)) continue;
    pool_.forget(channel.get());
    SideFigures figures = channel->figures();
    figures.cache_entries = figures.cache_bytes = 0;
    const std::lock_guard lock(mutex_);
    if (std::erase(all_channels_, channel) != 0) of_gone_sides_ += figures;
  }
  std::erase_if(channels_, is_done);
}

void ProxyLoop::serve_once() {
  update_channels();
  cluster_.tick(now_ns_);
  drop_outdated();
  attempt_waiting();
  blocked_ = more_ = false;
  for (const auto& channel : channels_) pull(*channel);
  expire();
  cluster_.flush(now_ns_);
  for (const auto& channel : channels_) channel->notify();
  publish();
}

void ProxyLoop::pull(Channel& channel) {
  size_t pulled = 0;
  for (Bytes record = channel.requests.front(); record.data() != nullptr; record = channel.requests.front()) {
    if (pulled++ == kPullAtOnce) {
      more_ = true;
      break;
    }
    if (!take_in(channel, record)) {
      blocked_ = true;
      break;
    }
    channel.requests.pop();
  }
  channel.requests.release();
}

bool ProxyLoop::has_work() const {
  if (stopping_.load() || channels_changed_.load()) return true;
  const auto calls = [](const auto& channel) { return !channel->requests.empty() || channel->detached.load(); };
  return std::ranges::any_of(channels_, calls);
}

int ProxyLoop::wait_ms(uint64_t now_ns) const {
  uint64_t next = std::min({cluster_.next_event_ns(), pool_.earliest_deadline_ns(), now_ns + kLongestWaitNs});
  // Requests that wait for room are looked at again each millisecond, for their deadlines.
  if (blocked_) next = std::min(next, now_ns + kNsPerMs);
  for (const Ticket ticket : waiting_)
    if (const uint64_t retry_ns = pool_[ticket].retry_ns; retry_ns > now_ns) next = std::min(next, retry_ns);
  return next <= now_ns ? 0 : static_cast<int>((next - now_ns + kNsPerMs - 1) / kNsPerMs);
}

void ProxyLoop::wait_for_events() {
  epoll_event events[kMaxConnections + 1];
  const bool sleeps = !more_ && !blocked_;
  if (sleeps) shared_->wake.announce();
  const bool waits = !more_ && !(sleeps && has_work());
  const int count = epoll_wait(epoll_, events, std::size(events), waits ? wait_ms(monotonic_ns()) : 0);
  const auto ready = std::span(events).first(static_cast<size_t>(std::max(count, 0)));
  const bool called = std::ranges::any_of(ready, [](const epoll_event& e) { return e.data.u64 == kWakeId; });
  if (sleeps || called) shared_->wake.awake();
  // Read before what has come is judged by its time.
  now_ns_ = monotonic_ns();
  for (const epoll_event& event : ready) {
    if (event.data.u64 == kWakeId) continue;
    if (Connection* const connection = cluster_.of_index(static_cast<uint8_t>(event.data.u64)))
      connection->on_event(event.events, now_ns_);
  }
}

void ProxyLoop::drop_outdated() {
  for (const uint8_t connection : cluster_.take_outdated()) {
    drop_what_was_read(connection);
    changed_ = true;
  }
}

void ProxyLoop::drop_what_was_read(uint8_t connection) {
  for (const auto& channel : channels_)
    if (!channel->connection_lost(connection)) counts_.invalidations_lost.add();
}

void ProxyLoop::connection_ready(Connection&) {
  changed_ = true;
}

void ProxyLoop::connection_alive(Connection& connection, uint64_t until_ns) {
  shared_->alive_until_ns[connection.index()].store(until_ns, std::memory_order_release);
}

void ProxyLoop::connection_lost(Connection& connection) {
  shared_->alive_until_ns[connection.index()].store(0, std::memory_order_release);
  drop_what_was_read(connection.index());
  cluster_.want_slots();
  changed_ = true;
}

void ProxyLoop::invalidated(Connection&, const RespValue& keys) {
  for (const auto& channel : channels_) {
    if (!keys.aggregate()) {
      if (!channel->invalidate_all()) counts_.invalidations_lost.add();
      continue;
    }
    keys.for_each([&](const RespValue& key) {
      if (!channel->invalidate(key.bytes())) counts_.invalidations_lost.add();
    });
  }
}

void ProxyLoop::give_up_all() {
  for (const auto& channel : channels_) channel->closed.store(true);
  cluster_.close_all("the proxy ends", now_ns_);
  for (const Ticket ticket : std::exchange(waiting_, {})) finish(ticket, Outcome::kAway);
  for (const auto& channel : channels_) {
    SpscRing& requests = channel->requests;
    for (Bytes record = requests.front(); record.data() != nullptr; record = requests.front()) {
      read_request(record, request_);
      end_unsent(*channel, Outcome::kAway);
      requests.pop();
    }
    requests.release();
    channel->notify();
  }
}

void ProxyLoop::publish() {
  counts_.in_flight.set(pool_.in_use());
  if (!changed_ && counts_.connected.load()) return;
  changed_ = false;
  counts_.connections.set(cluster_.ready());
  counts_.reconnects.set(cluster_.reconnects());
  const bool connected = cluster_.connected();
  std::string reason = cluster_.reason();
  const std::lock_guard lock(mutex_);
  counts_.connected.store(connected);
  reason_ = std::move(reason);
}

Figures ProxyLoop::figures() const {
  Figures out;
  const std::lock_guard lock(mutex_);
  out.connected = counts_.connected.load();
  out.reason = reason_;
  out.in_flight = counts_.in_flight.get();
  out.connections = counts_.connections.get();
  out.reconnects = counts_.reconnects.get();
  for (size_t i = 0; i < kOutcomes; ++i) {
    out.replies[i] = counts_.replies[i].get();
    out.posts_failed[i] = counts_.posts_failed[i].get();
  }
  out.late_replies = counts_.late_replies.get();
  out.replies_without_room = counts_.replies_without_room.get();
  out.invalidations_lost = counts_.invalidations_lost.get();
  out.redirections = counts_.redirections.get();
  out.retries = counts_.retries.get();
  out.fetch_latency = counts_.fetch_latency.read();
  out.sides = of_gone_sides_;
  for (const auto& channel : all_channels_) out.sides += channel->figures();
  return out;
}

}  // namespace orrery::state
