// SPDX-License-Identifier: Apache-2.0
#include "support/state/channel.h"

#include <stdexcept>

namespace orrery::state {
namespace {

constexpr size_t kLongestNotice = SpscRing::room_of(notice_bytes(kMaxStoreKeyBytes, kMaxValueBytes));

// A reply without a value for each that is outstanding, and what the end of the memory may cost.
size_t reserve_of(const SideOptions& options) {
  return (size_t{options.max_outstanding} + 1) * SpscRing::room_of(notice_bytes(0, 0));
}

}  // namespace

Channel::Channel(const SideOptions& options)
    : requests(options.request_ring_bytes),
      notices(options.notice_ring_bytes),
      caches_(options.cache_entries != 0),
      reserve_bytes_(reserve_of(options)) {
  if (options.max_outstanding == 0) throw std::invalid_argument("a packet side needs room for one request");
  if (reserve_bytes_ + 2 * kLongestNotice > options.notice_ring_bytes)
    throw std::invalid_argument("the ring of notices is too small for so many outstanding requests");
  constexpr size_t kLongestRequest = 2 * kMaxArgumentBytes + kMaxKeys * kMaxStoreKeyBytes;
  if (2 * kLongestRequest > options.request_ring_bytes)
    throw std::invalid_argument("the ring of requests is too small for the longest one");
}

SideFigures Channel::figures() const {
  return {.requests = counts.requests.get(),
          .posts = counts.posts.get(),
          .requests_refused = counts.requests_refused.get(),
          .cache_hits = counts.hits.get(),
          .cache_misses = counts.misses.get(),
          .cache_entries = counts.entries.get(),
          .cache_bytes = counts.bytes.get(),
          .cache_evictions = counts.evictions.get(),
          .cache_flushes = counts.flushes.get(),
          .invalidations = counts.invalidations.get()};
}

bool Channel::push(NoticeHeader header, Bytes key, Bytes value, size_t keep_free_bytes) {
  uint8_t* const to = notices.begin_push(notice_bytes(key.size(), value.size()), keep_free_bytes);
  if (to == nullptr) return false;
  header.losses = losses.load(std::memory_order_relaxed);
  write_notice(to, header, key, value);
  notices.commit();
  pushed_ = true;
  return true;
}

bool Channel::reply(Token token, Outcome outcome, Bytes key, Bytes value, uint8_t connection, bool encoded) {
  NoticeHeader header{};
  header.token = token;
  header.kind = NoticeKind::kReply;
  header.outcome = outcome;
  header.connection = connection;
  header.encoded = encoded;
  if (push(header, key, value, reserve_bytes_)) return true;
  const bool told_all = outcome == Outcome::kTimedOut || outcome == Outcome::kAway;
  if (!told_all) header.outcome = Outcome::kTimedOut;
  header.encoded = false;
  push(header, {}, {}, 0);
  return told_all;
}

bool Channel::push_or_lose(NoticeHeader header, Bytes key) {
  if (!caches_ || push(header, key, {}, reserve_bytes_)) return true;
  losses.store(losses.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return false;
}

bool Channel::invalidate(Bytes key) {
  if (key.size() > kMaxStoreKeyBytes) return true;
  NoticeHeader header{};
  header.kind = NoticeKind::kInvalidation;
  return push_or_lose(header, key);
}

bool Channel::invalidate_all() {
  NoticeHeader header{};
  header.kind = NoticeKind::kAllInvalidated;
  return push_or_lose(header, {});
}

bool Channel::connection_lost(uint8_t connection) {
  NoticeHeader header{};
  header.kind = NoticeKind::kConnectionLost;
  header.connection = connection;
  return push_or_lose(header, {});
}

void Channel::notify() {
  if (!pushed_) return;
  pushed_ = false;
  wake.notify();
}

}  // namespace orrery::state
