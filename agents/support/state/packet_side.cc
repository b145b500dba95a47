// SPDX-License-Identifier: Apache-2.0
#include "support/state/packet_side.h"

#include <algorithm>
#include <utility>

namespace orrery::state {

PacketSide::PacketSide(std::shared_ptr<Channel> channel, std::shared_ptr<ProxyShared> proxy, const SideOptions& options)
    : channel_(std::move(channel)),
      proxy_(std::move(proxy)),
      max_outstanding_(options.max_outstanding),
      cache_(options.cache_entries, options.cache_bytes) {}

PacketSide::~PacketSide() {
  channel_->detached.store(true, std::memory_order_seq_cst);
  proxy_->wake.notify();
}

// In this order: what was told before the time was stored is queued by then, so an empty queue means that it was
// heeded.
uint64_t PacketSide::alive_until(uint8_t connection) {
  const uint64_t told = proxy_->alive_until_ns[connection].load(std::memory_order_acquire);
  if (channel_->notices.empty() && channel_->losses.load(std::memory_order_acquire) == losses_heeded_)
    heeded_until_ns_[connection] = told;
  return heeded_until_ns_[connection];
}

Lookup PacketSide::find(const StoreKey& key, uint64_t now_ns) {
  const auto found = cache_.find(key);
  if (!found || now_ns >= alive_until(found->connection)) {
    channel_->counts.misses.add();
    return {false, {}};
  }
  channel_->counts.hits.add();
  return {true, found->value};
}

bool PacketSide::refuse() {
  channel_->counts.requests_refused.add();
  return false;
}

bool PacketSide::push(RequestHeader header, const RequestParts& parts) {
  if (!parts.within_limits() || channel_->closed.load(std::memory_order_relaxed)) return refuse();
  // Deadlines in the queue are in order, whatever the clock was read for.
  header.made_ns = last_made_ns_ = std::max(header.made_ns, last_made_ns_);
  uint8_t* const to = channel_->requests.begin_push(parts.record_bytes());
  if (to == nullptr) return refuse();
  write_request(to, header, parts);
  channel_->requests.commit();
  proxy_->wake.notify();
  return true;
}

bool PacketSide::push_awaited(RequestHeader header, const RequestParts& parts) {
  if (outstanding_ >= max_outstanding_) return refuse();
  if (!push(header, parts)) return false;
  ++outstanding_;
  channel_->counts.requests.add();
  return true;
}

bool PacketSide::fetch(Token token, const StoreKey& key, uint64_t now_ns) {
  RequestHeader header{};
  header.token = token;
  header.made_ns = now_ns;
  header.kind = RequestKind::kFetch;
  return push_awaited(header, {.function = {}, .keys = {&key, 1}, .arguments = {}});
}

bool PacketSide::call(Token token, std::string_view function, std::span<const StoreKey> keys,
                      std::span<const Bytes> arguments, uint64_t now_ns) {
  RequestHeader header{};
  header.token = token;
  header.made_ns = now_ns;
  header.kind = RequestKind::kCall;
  return push_awaited(header, {.function = function, .keys = keys, .arguments = arguments});
}

bool PacketSide::post(std::string_view function, std::span<const StoreKey> keys, std::span<const Bytes> arguments,
                      uint64_t now_ns) {
  RequestHeader header{};
  header.made_ns = now_ns;
  header.kind = RequestKind::kPost;
  if (!push(header, {.function = function, .keys = keys, .arguments = arguments})) return false;
  channel_->counts.posts.add();
  return true;
}

void PacketSide::heed_losses(uint32_t losses) {
  if (losses == losses_heeded_) return;
  losses_heeded_ = losses;
  cache_.flush_all();
  channel_->counts.flushes.add();
}

void PacketSide::cache_reply(const NoticeView& notice) {
  if (notice.key.empty()) return;
  if (notice.header.outcome == Outcome::kAbsent) cache_.erase(notice.key);
  // An invalidation that came behind the value may be among those that were lost.
  if (notice.header.outcome != Outcome::kValue || notice.header.losses != losses_heeded_) return;
  cache_.insert(notice.key, notice.value, notice.header.connection);
}

void PacketSide::heed(const NoticeView& notice) {
  switch (notice.header.kind) {
    case NoticeKind::kReply:
      cache_reply(notice);
      break;
    case NoticeKind::kInvalidation:
      channel_->counts.invalidations.add();
      cache_.erase(notice.key);
      break;
    case NoticeKind::kConnectionLost:
      channel_->counts.flushes.add();
      cache_.flush(notice.header.connection);
      break;
    case NoticeKind::kAllInvalidated:
      channel_->counts.flushes.add();
      cache_.flush_all();
      break;
  }
}

void PacketSide::show_cache() {
  channel_->counts.entries.set(cache_.entries());
  channel_->counts.bytes.set(cache_.bytes());
  channel_->counts.evictions.set(cache_.evictions());
}

size_t PacketSide::take(std::span<Reply> replies) {
  SpscRing& notices = channel_->notices;
  notices.release();
  outstanding_ -= std::exchange(taken_, 0);
  const uint32_t losses = channel_->losses.load(std::memory_order_acquire);
  if (notices.empty() && losses == losses_heeded_) return 0;
  heed_losses(losses);
  size_t count = 0;
  for (Bytes record = notices.front(); record.data() != nullptr; record = notices.front()) {
    const NoticeView notice = read_notice(record);
    const bool is_reply = notice.header.kind == NoticeKind::kReply;
    if (is_reply && count == replies.size()) break;
    heed(notice);
    if (is_reply) replies[count++] = {notice.header.token, notice.header.outcome, notice.header.encoded, notice.value};
    notices.pop();
  }
  taken_ = static_cast<uint32_t>(count);
  show_cache();
  return count;
}

bool PacketSide::may_sleep() {
  channel_->wake.announce();
  if (channel_->notices.empty()) return true;
  channel_->wake.awake();
  return false;
}

}  // namespace orrery::state
