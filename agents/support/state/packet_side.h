// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "support/state/bytes.h"
#include "support/state/cache.h"
#include "support/state/channel.h"
#include "support/state/figures.h"
#include "support/state/key_space.h"
#include "support/state/messages.h"

namespace orrery::state {

// What became of a fetch or a call.
struct Reply {
  Token token;
  Outcome outcome;
  // Whether `value` is a call's answer that is neither bytes nor a number, in RESP3 as it came (resp_parser.h).
  bool encoded;
  // kValue: the bytes of a text, the digits of a number, 1 or 0. kRefused: the reason. Until the next take().
  Bytes value;
};

struct Lookup {
  bool hit;
  Bytes value;  // until the next take()
};

// A packet thread's end of the proxy (Proxy::attach). All of it is for one thread, which never waits here, takes no
// lock and allocates nothing; a system call is made only to wake the proxy's thread when that sleeps.
//
// `now_ns` is monotonic_ns(), read shortly before: a cached value is served for as much longer as it is old.
class PacketSide {
 public:
  PacketSide(std::shared_ptr<Channel> channel, std::shared_ptr<ProxyShared> proxy, const SideOptions& options);
  ~PacketSide();
  PacketSide(const PacketSide&) = delete;
  PacketSide& operator=(const PacketSide&) = delete;

  // A value that was cached, and that the store has not declared invalid for longer than the proxy's bound.
  Lookup find(const StoreKey& key, uint64_t now_ns);

  // Asks for the value of a key; what is there is cached when its reply is taken. False when there is no room, or the
  // key is too long. Otherwise there is one reply, at the latest a tick of the proxy (1 ms) after the deadline.
  bool fetch(Token token, const StoreKey& key, uint64_t now_ns);

  // Has the store call a function of its library with these keys and arguments; the answer is not cached. In a cluster
  // all keys must have the same hash tag; a call without keys goes to any master. As fetch() otherwise.
  bool call(Token token, std::string_view function, std::span<const StoreKey> keys, std::span<const Bytes> arguments,
            uint64_t now_ns);

  // The same without a reply. What fails is counted (Figures::posts_failed).
  bool post(std::string_view function, std::span<const StoreKey> keys, std::span<const Bytes> arguments,
            uint64_t now_ns);

  // Replies that have come, in order, and what else the store has told. At most so many; call it again when it gives
  // that many. Ends the life of earlier replies and of what find() gave.
  size_t take(std::span<Reply> replies);

  // Fetches and calls whose replies were not taken.
  uint32_t outstanding() const { return outstanding_ - taken_; }

  // For a thread that waits for file descriptors: it waits for fd() when may_sleep() says so, and calls awake() then.
  int fd() const { return channel_->wake.fd(); }
  bool may_sleep();
  void awake() { channel_->wake.awake(); }

 private:
  bool push(RequestHeader header, const RequestParts& parts);
  bool push_awaited(RequestHeader header, const RequestParts& parts);
  bool refuse();
  uint64_t alive_until(uint8_t connection);
  void heed_losses(uint32_t losses);
  void heed(const NoticeView& notice);
  void cache_reply(const NoticeView& notice);
  void show_cache();

  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<ProxyShared> proxy_;
  const uint32_t max_outstanding_;
  Cache cache_;
  // ProxyShared::alive_until_ns as it was when all that was told before had been heeded.
  std::array<uint64_t, kMaxConnections> heeded_until_ns_{};
  uint32_t losses_heeded_ = 0;
  uint32_t outstanding_ = 0;
  uint32_t taken_ = 0;  // of these, by the last take(): their room is still in use
  uint64_t last_made_ns_ = 0;
};

}  // namespace orrery::state
