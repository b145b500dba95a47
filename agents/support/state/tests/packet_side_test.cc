// SPDX-License-Identifier: Apache-2.0
// The packet side alone: the test is the proxy's thread.
#include "support/state/packet_side.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

#include "nfs/testing/allocation_count.h"

namespace orrery::state {
namespace {

const KeySpace kNat("chain", "nat");

StoreKey nat_key(std::string_view key) {
  return kNat.key(as_bytes(key));
}

class PacketSideTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kNow = 1'000;

  void start(const SideOptions& options) {
    options_ = options;
    channel_ = std::make_shared<Channel>(options);
    proxy_ = std::make_shared<ProxyShared>();
    side_ = std::make_unique<PacketSide>(channel_, proxy_, options);
    alive(0, kNow + 1);
  }
  void SetUp() override { start({.cache_entries = 16, .cache_bytes = 1 << 16, .max_outstanding = 8}); }

  void alive(uint8_t connection, uint64_t until_ns) { proxy_->alive_until_ns[connection].store(until_ns); }

  // As the store answers a fetch on the connection.
  void answer(Token token, std::string_view key, std::string_view value, uint8_t connection = 0) {
    const std::string in_store = kNat.prefix() + std::string(key);
    channel_->reply(token, Outcome::kValue, as_bytes(in_store), as_bytes(value), connection, false);
  }
  void invalidate(std::string_view key) {
    const std::string in_store = kNat.prefix() + std::string(key);
    channel_->invalidate(as_bytes(in_store));
  }
  bool fetch(Token token, std::string_view key) { return side_->fetch(token, nat_key(key), kNow); }

  // The replies as TOKEN:OUTCOME:VALUE.
  std::string taken(size_t most = 16) {
    std::vector<Reply> replies(most);
    const size_t count = side_->take(replies);
    std::string out;
    for (const Reply& reply : std::span(replies).first(count))
      out += std::to_string(reply.token) + ':' + std::to_string(static_cast<int>(reply.outcome)) + ':' +
             std::string(as_text(reply.value)) + ' ';
    return out;
  }
  std::string look(std::string_view key, uint64_t now_ns = kNow) {
    const Lookup found = side_->find(nat_key(key), now_ns);
    return found.hit ? std::string(as_text(found.value)) : "miss";
  }
  // What the packet side has asked for.
  RequestView& next_request() {
    const Bytes record = channel_->requests.front();
    if (record.data() == nullptr) throw std::logic_error("no request");
    read_request(record, request_);
    channel_->requests.pop();
    return request_;
  }

  SideOptions options_;
  std::shared_ptr<Channel> channel_;
  std::shared_ptr<ProxyShared> proxy_;
  std::unique_ptr<PacketSide> side_;
  RequestView request_{};
};

TEST_F(PacketSideTest, CarriesRequests) {
  EXPECT_TRUE(fetch(7, "a"));
  const RequestView& request = next_request();
  EXPECT_EQ(request.header.token, 7u);
  EXPECT_EQ(request.header.kind, RequestKind::kFetch);
  EXPECT_EQ(request.header.made_ns, kNow);
  EXPECT_EQ(as_text(request.keys[0]), "state:{chain}:v:nat:a");

  const StoreKey keys[] = {nat_key("a"), {"raw", {}}};
  const Bytes arguments[] = {as_bytes("1"), Bytes()};
  EXPECT_TRUE(side_->call(8, "state_add", keys, arguments, kNow));
  EXPECT_TRUE(side_->post("state_tell", keys, {}, kNow - 5));
  next_request();
  EXPECT_EQ(request.function, "state_add");
  EXPECT_EQ(request.header.keys, 2);
  EXPECT_EQ(as_text(request.keys[1]), "raw");
  EXPECT_EQ(request.header.arguments, 2);
  EXPECT_EQ(as_text(request.arguments[0]), "1");
  EXPECT_TRUE(request.arguments[1].empty());
  next_request();
  EXPECT_EQ(request.header.kind, RequestKind::kPost);
  EXPECT_EQ(request.header.made_ns, kNow) << "not earlier than the one before";
  EXPECT_EQ(side_->outstanding(), 2u) << "nobody awaits a post";
}

TEST_F(PacketSideTest, RefusesWhatIsTooLong) {
  const std::string key(kMaxKeyBytes, 'k');
  EXPECT_TRUE(fetch(1, key));
  EXPECT_FALSE(fetch(1, key + "k"));
  const std::string text(kMaxArgumentBytes, 'x');
  const Bytes whole[] = {as_bytes(text)};
  const Bytes too_much[] = {as_bytes(text), as_bytes("x")};
  EXPECT_TRUE(side_->call(1, "f", {}, whole, kNow));
  EXPECT_FALSE(side_->call(1, "f", {}, too_much, kNow));
  EXPECT_TRUE(side_->post(std::string(kMaxFunctionBytes, 'f'), {}, {}, kNow));
  EXPECT_FALSE(side_->post(std::string(kMaxFunctionBytes + 1, 'f'), {}, {}, kNow));
  const std::vector<StoreKey> keys(kMaxKeys + 1, nat_key("a"));
  EXPECT_FALSE(side_->post("f", keys, {}, kNow));
  EXPECT_EQ(channel_->figures().requests_refused, 4u);
  EXPECT_EQ(look(key + "k"), "miss");
}

TEST_F(PacketSideTest, RefusesRequestsBeyondWhatIsOutstanding) {
  for (Token token = 0; token < 8; ++token) EXPECT_TRUE(fetch(token, "a"));
  EXPECT_FALSE(fetch(8, "a"));
  EXPECT_TRUE(side_->post("f", {}, {}, kNow)) << "no room is kept for a reply";
  channel_->reply(0, Outcome::kAway, {}, {}, 0, false);
  EXPECT_EQ(taken(), "0:4: ");
  EXPECT_FALSE(fetch(8, "a")) << "its room is in use until the next take";
  EXPECT_EQ(taken(), "");
  EXPECT_TRUE(fetch(8, "a"));
}

TEST_F(PacketSideTest, RefusesRequestsForWhichTheRingHasNoRoom) {
  const std::string text(4000, 'x');
  const Bytes arguments[] = {as_bytes(text)};
  uint32_t posted = 0;
  while (side_->post("f", {}, arguments, kNow)) ++posted;
  EXPECT_GE(posted, 100u);
  EXPECT_EQ(channel_->figures().posts, posted);
  EXPECT_EQ(channel_->figures().requests_refused, 1u);
}

TEST_F(PacketSideTest, ServesAValueUntilTheConnectionsTime) {
  fetch(1, "a");
  answer(1, "a", "value");
  EXPECT_EQ(look("a"), "miss") << "not taken yet";
  EXPECT_EQ(taken(), "1:0:value ");
  EXPECT_EQ(look("a"), "value");
  EXPECT_EQ(look("a", kNow + 1), "miss");
  alive(0, kNow + 10);
  EXPECT_EQ(look("a", kNow + 9), "value");
  EXPECT_EQ(look("a", kNow + 10), "miss");
  EXPECT_EQ(channel_->figures().cache_hits, 2u);
  EXPECT_EQ(channel_->figures().cache_misses, 3u);
}

// The time of a connection vouches for what was told before: it counts only when that was heeded.
TEST_F(PacketSideTest, ExtendsTheTimeOnlyWhenAllIsHeeded) {
  fetch(1, "a");
  answer(1, "a", "old");
  taken();
  EXPECT_EQ(look("a"), "old");
  invalidate("a");
  alive(0, kNow + 500);
  EXPECT_EQ(look("a"), "old") << "by the time that was told before";
  EXPECT_EQ(look("a", kNow + 1), "miss") << "the new time speaks of an invalidation that was not taken";
  taken();
  EXPECT_EQ(look("a", kNow + 1), "miss");
  EXPECT_EQ(channel_->figures().invalidations, 1u);
}

TEST_F(PacketSideTest, AnInvalidationBehindAValueIsHeededWithIt) {
  fetch(1, "a");
  answer(1, "a", "old");
  invalidate("a");
  EXPECT_EQ(taken(), "1:0:old ");
  EXPECT_EQ(look("a"), "miss");
  fetch(2, "a");
  invalidate("a");
  answer(2, "a", "new");
  taken();
  EXPECT_EQ(look("a"), "new") << "a value behind an invalidation is the newer one";
}

TEST_F(PacketSideTest, WhatIsBehindTheLastReplyWaits) {
  for (Token token : {1, 2}) fetch(token, "a");
  answer(1, "a", "one");
  answer(2, "b", "two");
  invalidate("a");
  EXPECT_EQ(taken(1), "1:0:one ");
  alive(0, kNow + 500);
  EXPECT_EQ(look("a"), "miss") << "nothing has been vouched for when all was heeded";
  EXPECT_EQ(taken(1), "2:0:two ");
  EXPECT_EQ(look("a"), "miss");
  EXPECT_EQ(look("b", kNow + 1), "two");
}

TEST_F(PacketSideTest, AnAbsentValueEndsWhatWasCached) {
  fetch(1, "a");
  answer(1, "a", "x");
  taken();
  fetch(2, "a");
  const std::string in_store = kNat.prefix() + "a";
  channel_->reply(2, Outcome::kAbsent, as_bytes(in_store), {}, 0, false);
  EXPECT_EQ(taken(), "2:1: ");
  EXPECT_EQ(look("a"), "miss");
}

TEST_F(PacketSideTest, ALostConnectionEndsWhatItHasRead) {
  alive(3, kNow + 1);
  for (Token token : {1, 2}) fetch(token, "a");
  answer(1, "a", "x", 0);
  answer(2, "b", "y", 3);
  taken();
  EXPECT_EQ(look("b"), "y");
  channel_->connection_lost(3);
  EXPECT_EQ(look("b"), "y") << "within its time";
  taken();
  EXPECT_EQ(look("a"), "x");
  EXPECT_EQ(look("b"), "miss");
  channel_->invalidate_all();
  taken();
  EXPECT_EQ(look("a"), "miss");
  EXPECT_EQ(channel_->figures().cache_flushes, 2u);
  EXPECT_EQ(channel_->figures().cache_entries, 0u);
}

TEST_F(PacketSideTest, AnInvalidationWithoutRoomEndsAllThatIsCachedAndOnItsWay) {
  for (Token token : {1, 2, 3}) fetch(token, "a");
  answer(1, "a", "x");
  taken();
  EXPECT_EQ(look("a"), "x");
  answer(2, "b", "y");
  while (channel_->invalidate(as_bytes("other"))) {
  }
  alive(0, kNow + 500);
  EXPECT_EQ(look("a", kNow + 1), "miss") << "the new time does not count before the loss is heeded";
  EXPECT_EQ(taken(), "2:0:y ");
  EXPECT_EQ(look("a", kNow + 1), "miss");
  EXPECT_EQ(look("b", kNow + 1), "miss") << "what was lost may have been its invalidation";
  taken();
  answer(3, "a", "z");
  taken();
  EXPECT_EQ(look("a", kNow + 1), "z");
}

TEST_F(PacketSideTest, EachRequestHasItsReplyThoughNothingIsTaken) {
  start({.cache_entries = 16, .cache_bytes = 1 << 16, .max_outstanding = 1000, .notice_ring_bytes = 64 << 10});
  const std::string value(kMaxValueBytes, 'v');
  uint32_t whole = 0;
  for (int round = 0; round < 20; ++round) {
    Token made = 0;
    while (fetch(made, "a")) ++made;
    ASSERT_EQ(made, 1000u);
    while (channel_->requests.front().data() != nullptr) channel_->requests.pop();
    channel_->requests.release();
    for (int n = 0; n < 100; ++n) channel_->invalidate(as_bytes("other"));
    for (Token token = 0; token < made; ++token)
      whole += channel_->reply(token, Outcome::kValue, as_bytes("k"), as_bytes(value), 0, false) ? 1 : 0;
    std::vector<Reply> replies(500);
    Token next = 0;
    for (size_t got = side_->take(replies); got != 0; got = side_->take(replies)) {
      for (const Reply& reply : std::span(replies).first(got)) {
        EXPECT_EQ(reply.token, next++);
        EXPECT_TRUE(reply.outcome == Outcome::kTimedOut || as_text(reply.value) == value);
      }
    }
    EXPECT_EQ(next, made);
  }
  EXPECT_GE(whole, 20u);
}

TEST_F(PacketSideTest, AllocatesNothing) {
  const std::string value(kMaxValueBytes, 'v');
  std::vector<Reply> replies(16);
  const StoreKey keys[] = {nat_key("a")};
  const Bytes arguments[] = {as_bytes(value)};
  const uint64_t allocated = orrery::testing::allocation_count();
  for (Token token = 0; token < 1000; ++token) {
    side_->fetch(token, nat_key("a"), kNow);
    side_->call(token, "f", keys, arguments, kNow);
    side_->post("f", keys, arguments, kNow);
    while (channel_->requests.front().data() != nullptr) channel_->requests.pop();
    channel_->requests.release();
    channel_->reply(token, Outcome::kValue, as_bytes("state:{chain}:v:nat:a"), as_bytes(value), 0, false);
    channel_->reply(token, Outcome::kValue, {}, as_bytes(value), 0, false);
    EXPECT_EQ(side_->take(replies), 2u);
    EXPECT_TRUE(side_->find(nat_key("a"), kNow).hit);
  }
  EXPECT_EQ(orrery::testing::allocation_count(), allocated);
}

TEST_F(PacketSideTest, WakesAThreadThatSleeps) {
  const auto readable = [&] {
    pollfd event{side_->fd(), POLLIN, 0};
    return poll(&event, 1, 0) == 1;
  };
  fetch(1, "a");
  answer(1, "a", "x");
  channel_->notify();
  EXPECT_FALSE(readable()) << "it is awake";
  EXPECT_FALSE(side_->may_sleep()) << "a reply waits";
  taken();
  EXPECT_TRUE(side_->may_sleep());
  invalidate("a");
  channel_->notify();
  EXPECT_TRUE(readable());
  side_->awake();
  EXPECT_FALSE(readable());
}

TEST_F(PacketSideTest, RefusesRingsThatAreTooSmall) {
  EXPECT_THROW(Channel({.max_outstanding = 0}), std::invalid_argument);
  EXPECT_THROW(Channel({.max_outstanding = 4096, .notice_ring_bytes = 64 << 10}), std::invalid_argument);
  EXPECT_THROW(Channel({.request_ring_bytes = 8192}), std::invalid_argument);
  EXPECT_THROW(Channel({.request_ring_bytes = 100'000}), std::invalid_argument);
}

TEST_F(PacketSideTest, RefusesRequestsWhenTheProxyIsGone) {
  channel_->closed.store(true);
  EXPECT_FALSE(fetch(1, "a"));
}

}  // namespace
}  // namespace orrery::state
