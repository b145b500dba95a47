// SPDX-License-Identifier: Apache-2.0
// What a packet thread and the proxy's thread have in common.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "support/state/bytes.h"
#include "support/state/figures.h"
#include "support/state/messages.h"
#include "support/state/spsc_ring.h"
#include "support/state/wake_up.h"

namespace orrery::state {

struct SideOptions {
  uint32_t cache_entries = 65'536;                // 0: nothing is cached
  size_t cache_bytes = size_t{16} << 20;          // of keys and values, rounded up to blocks; taken at once
  uint32_t max_outstanding = 4096;                // fetches and calls whose replies were not taken
  size_t request_ring_bytes = size_t{512} << 10;  // a power of two
  size_t notice_ring_bytes = size_t{1} << 20;     // a power of two, at least 256 bytes for each outstanding request
};

// Of one proxy, for all its packet sides.
struct ProxyShared {
  // By connection: until when what was read on it may be served, by monotonic_ns(). Stored after all that the store
  // has told before was queued or counted in Channel::losses.
  std::array<std::atomic<uint64_t>, kMaxConnections> alive_until_ns{};
  WakeUp wake;
};

// Between one packet side and the proxy. Its threads are named at what they call.
class Channel {
 public:
  // Throws std::invalid_argument where rings are no powers of two or too small.
  explicit Channel(const SideOptions& options);

  SpscRing requests;
  SpscRing notices;
  WakeUp wake;  // of a packet thread that sleeps

  // How often an invalidation found no room. What was cached before is worth nothing then, and so is a value that was
  // queued before.
  std::atomic<uint32_t> losses{0};
  std::atomic<bool> detached{false};  // the packet side is gone
  std::atomic<bool> closed{false};    // the proxy is gone

  struct Counts {
    Count requests, posts, requests_refused, hits, misses, entries, bytes, evictions, flushes, invalidations;
  };
  Counts counts;  // of the packet thread
  SideFigures figures() const;

  // Proxy: queues the reply. False where there was no room for what it says: then it is told as kTimedOut. `key` is a
  // fetch's. Precondition: the reply is one of at most SideOptions::max_outstanding that were not taken.
  bool reply(Token token, Outcome outcome, Bytes key, Bytes value, uint8_t connection, bool encoded);

  // Proxy: queues what ends the life of cached values. False when that found no room, and was counted in `losses`.
  bool invalidate(Bytes key);
  bool invalidate_all();
  bool connection_lost(uint8_t connection);

  // Proxy: calls the packet thread, if it sleeps, for what was queued since the last call.
  void notify();

 private:
  bool push(NoticeHeader header, Bytes key, Bytes value, size_t keep_free_bytes);
  bool push_or_lose(NoticeHeader header, Bytes key);

  const bool caches_;
  const size_t reserve_bytes_;  // for replies without a value
  bool pushed_ = false;
};

}  // namespace orrery::state
