// SPDX-License-Identifier: Apache-2.0
// Stores that lie, hang, die and answer late.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fake_store.h"
#include "store_client.h"
#include "support/clock.h"

namespace orrery::state {
namespace {

using testing::bulk;
using testing::eventually;
using testing::FakeStore;
using testing::take_replies;
using testing::TestClient;

std::string push_of(std::string_view key) {
  return ">2\r\n" + bulk("invalidate") + "*1\r\n" + bulk(key);
}

bool has_asked(const FakeStore& store, uint32_t count) {
  return eventually([&] { return store.asked() == count; });
}

std::string no_answer(const FakeStore::Command&) {
  return "";
}

TEST(StoreFaults, ALateAnswerIsDropped) {
  FakeStore store(no_answer);
  TestClient client(store.address(), 500, 300);
  ASSERT_TRUE(client.connected());
  ASSERT_TRUE(client.fetch(1, "a"));
  ASSERT_TRUE(client.fetch(2, "b"));
  auto replies = take_replies(client.side(), 2);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].outcome, Outcome::kTimedOut);
  EXPECT_EQ(client.figures().in_flight, 2u) << "their answers may still come";
  ASSERT_TRUE(has_asked(store, 2));
  store.answer_owed({bulk("late"), bulk("late too")});
  EXPECT_TRUE(eventually([&] { return client.figures().late_replies == 2; }));
  EXPECT_EQ(client.look("a"), "miss");
  EXPECT_TRUE(eventually([&] { return client.figures().in_flight == 0; }));
}

TEST(StoreFaults, AnswersAreHeldInTheOrderOfTheConnection) {
  FakeStore store(no_answer);
  TestClient client(store.address());
  ASSERT_TRUE(client.connected());
  const std::string key = client.store_key("a");
  ASSERT_TRUE(client.fetch(1, "a"));
  ASSERT_TRUE(has_asked(store, 1));
  store.answer_owed({bulk("old") + push_of(key)});
  ASSERT_EQ(take_replies(client.side(), 1).at(0).value, "old");
  EXPECT_TRUE(eventually([&] { return client.figures().sides.invalidations == 1 || client.look("a") == "miss"; }));
  EXPECT_EQ(client.look("a"), "miss");
  ASSERT_TRUE(client.fetch(2, "a"));
  ASSERT_TRUE(has_asked(store, 2));
  store.answer_owed({push_of(key) + bulk("new")});
  ASSERT_EQ(take_replies(client.side(), 1).at(0).value, "new");
  EXPECT_EQ(client.look("a"), "new");
  store.send_all(">2\r\n" + bulk("invalidate") + "_\r\n");
  EXPECT_TRUE(eventually([&] { return client.look("a") == "miss"; }));
  EXPECT_EQ(client.figures().sides.cache_flushes, 1u);
}

TEST(StoreFaults, GarbageEndsTheConnectionAndIsNamed) {
  for (const char* const text :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "$99999999\r\n", "*5000\r\n", "$1\r\nlong\r\n", "\x16\x03\x01"}) {
    FakeStore store(no_answer);
    TestClient client(store.address());
    ASSERT_TRUE(client.connected());
    ASSERT_TRUE(client.fetch(1, "a"));
    ASSERT_TRUE(has_asked(store, 1));
    store.answer_owed({text});
    const auto replies = take_replies(client.side(), 1);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].outcome, Outcome::kAway) << text;
    EXPECT_TRUE(eventually([&] { return client.figures().reconnects == 1; })) << text;
  }
}

TEST(StoreFaults, AnAnswerThatNobodyAwaitsEndsTheConnection) {
  FakeStore store(no_answer);
  TestClient client(store.address());
  ASSERT_TRUE(client.connected());
  store.send_all(":1\r\n");
  EXPECT_TRUE(eventually([&] { return client.figures().reconnects == 1; }));
}

TEST(StoreFaults, ACloseInTheMiddleOfAnAnswerIsAway) {
  FakeStore store(no_answer);
  TestClient client(store.address());
  ASSERT_TRUE(client.connected());
  ASSERT_TRUE(client.fetch(1, "a"));
  ASSERT_TRUE(client.fetch(2, "a"));
  ASSERT_TRUE(has_asked(store, 2));
  store.answer_owed({bulk("whole"), "$10\r\nhal"});
  const auto first = take_replies(client.side(), 1);
  EXPECT_EQ(first.at(0).value, "whole");
  store.close_all();
  EXPECT_EQ(take_replies(client.side(), 1).at(0).outcome, Outcome::kAway);
  EXPECT_EQ(client.look("a"), "miss") << "what the connection has read is no longer followed";
  EXPECT_TRUE(eventually([&] { return client.figures().reconnects == 1; }));
}

TEST(StoreFaults, AStoreThatStopsAnsweringIsLeft) {
  FakeStore store(no_answer);
  TestClient client(store.address(), 500, 20'000, 400);
  ASSERT_TRUE(client.connected());
  ASSERT_TRUE(client.fetch(1, "a"));
  store.answer_probes(false);
  EXPECT_EQ(take_replies(client.side(), 1).at(0).outcome, Outcome::kAway);
  EXPECT_TRUE(eventually([&] { return client.figures().reason.find("stopped answering") != std::string::npos; }));
  store.answer_probes(true);
  EXPECT_TRUE(eventually([&] { return client.figures().reconnects == 1; }));
}

TEST(StoreFaults, AnotherVersionOfTheLibraryIsRefused) {
  FakeStore store(no_answer);
  store.set_version(":2\r\n");
  TestClient client(store.address());
  EXPECT_TRUE(eventually([&] { return client.figures().reason.find("another version") != std::string::npos; }));
  EXPECT_EQ(client.fetched("a"), "away");
  store.set_version("-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_TRUE(eventually([&] { return client.figures().reason.find("LOADING") != std::string::npos; }));
  store.set_version(":1\r\n");
  EXPECT_TRUE(client.connected());
}

TEST(StoreFaults, ARequestThatWasNotExecutedIsSentAgain) {
  std::atomic<int> asked{0};
  FakeStore store([&](const FakeStore::Command&) {
    return ++asked < 3 ? std::string("-LOADING Redis is loading the dataset in memory\r\n") : bulk("done");
  });
  TestClient client(store.address());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.called("f", "a", {}), "value done");
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(client.figures().retries, 2u);
}

TEST(StoreFaults, AnErrorOfAFunctionIsNoReasonToSendItAgain) {
  std::atomic<int> asked{0};
  FakeStore store([&](const FakeStore::Command&) {
    ++asked;
    return std::string("-LOADING of what it has begun script: f, on @user_function:1.\r\n");
  });
  TestClient client(store.address());
  ASSERT_TRUE(client.connected());
  EXPECT_TRUE(client.called("f", "a", {}).starts_with("refused LOADING"));
  EXPECT_EQ(asked, 1);
}

TEST(StoreFaults, ARequestThatIsNeverExecutedTimesOut) {
  FakeStore store([&](const FakeStore::Command&) { return std::string("-TRYAGAIN Multiple keys\r\n"); });
  TestClient client(store.address(), 500, 60);
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.called("f", "a", {}), "timed out");
  EXPECT_TRUE(eventually([&] { return client.figures().in_flight == 0; }));
}

// More than may be under way wait in their ring, and all have their reply.
TEST(StoreFaults, WhatIsBeyondTheBoundOfAConnectionWaits) {
  std::atomic<bool> answers{false};
  FakeStore store([&](const FakeStore::Command&) { return answers ? bulk("x") : std::string(); });
  Proxy proxy(
      {.store = StoreAddress::parse(store.address()), .name = "test", .deadline_ms = 20'000, .max_in_flight = 10});
  const auto side = proxy.attach({.cache_entries = 0});
  ASSERT_TRUE(eventually([&] { return proxy.figures().connected; }));
  const KeySpace space("chain", "test");
  for (Token token = 0; token < 50; ++token) ASSERT_TRUE(side->fetch(token, space.key(as_bytes("a")), monotonic_ns()));
  ASSERT_TRUE(has_asked(store, 10));
  EXPECT_LE(proxy.figures().in_flight, 10u);
  answers = true;
  store.answer_owed(std::vector<std::string>(10, bulk("x")));
  const auto replies = take_replies(*side, 50);
  ASSERT_EQ(replies.size(), 50u);
  for (size_t i = 0; i < replies.size(); ++i) EXPECT_EQ(replies[i].token, i) << "in order";
}

TEST(StoreFaults, TheEndOfTheProxyAnswersWhatIsUnderWay) {
  FakeStore store(no_answer);
  const KeySpace space("chain", "test");
  std::unique_ptr<PacketSide> side;
  {
    Proxy proxy({.store = StoreAddress::parse(store.address()), .name = "test", .max_in_flight = 2});
    side = proxy.attach({});
    ASSERT_TRUE(eventually([&] { return proxy.figures().connected; }));
    for (Token token = 0; token < 5; ++token) ASSERT_TRUE(side->fetch(token, space.key(as_bytes("a")), ~uint64_t{0}));
  }
  const auto replies = take_replies(*side, 5);
  ASSERT_EQ(replies.size(), 5u);
  for (const auto& reply : replies) EXPECT_NE(reply.outcome, Outcome::kValue);
  EXPECT_FALSE(side->fetch(9, space.key(as_bytes("a")), ~uint64_t{0}));
}

TEST(StoreFaults, OptionsOutOfRangeAreRefused) {
  const StoreAddress store = StoreAddress::parse("redis://127.0.0.1:1");
  EXPECT_THROW(Proxy({.store = {}, .name = "x"}), std::invalid_argument);
  EXPECT_THROW(Proxy({.store = store, .name = ""}), std::invalid_argument);
  EXPECT_THROW(Proxy({.store = store, .name = "a b"}), std::invalid_argument);
  EXPECT_THROW(Proxy({.store = store, .name = "x", .stale_bound_ms = 19}), std::invalid_argument);
  EXPECT_THROW(Proxy({.store = store, .name = "x", .deadline_ms = 0}), std::invalid_argument);
  EXPECT_THROW(Proxy({.store = store, .name = "x", .silence_limit_ms = 99}), std::invalid_argument);
  EXPECT_THROW(Proxy({.store = store, .name = "x", .max_in_flight = 0}), std::invalid_argument);
}

// A store whose answers are right, late, refusals, garbage or ends of the connection, by chance: each request that was
// taken has one reply, in the packet side's order of time or not, and none is left over.
TEST(StoreFaults, EachRequestHasOneReplyWhateverTheStoreDoes) {
  std::mt19937 rng(8);
  FakeStore store([rng = std::mt19937(9)](const FakeStore::Command&) mutable -> std::string {
    const uint32_t chance = rng() % 1000;
    if (chance < 2) return "garbage\r\n";
    if (chance < 20) return "-ERR by chance\r\n";
    if (chance < 40) return "-LOADING by chance\r\n";
    if (chance < 60) return "$-1\r\n";
    if (chance < 80) return push_of("state:{chain}:v:test:a") + bulk("x");
    return bulk("x");
  });
  TestClient client(store.address(), 100, 30, 300);
  ASSERT_TRUE(client.connected());
  constexpr Token kRequests = 6000;
  std::vector<uint8_t> replies_of(kRequests);
  Token made = 0;
  uint64_t got = 0;
  std::vector<Reply> replies(64);
  const auto take = [&] {
    const size_t count = client.side().take(replies);
    for (const Reply& reply : std::span(replies).first(count)) ++replies_of[reply.token];
    got += count;
  };
  while (made < kRequests) {
    for (uint32_t n = rng() % 100; n > 0 && made < kRequests; --n) {
      const bool is_taken = made % 3 == 0 ? client.call(made, "f", "a", {"1"}) : client.fetch(made, "a");
      if (is_taken) ++made;
    }
    take();
    if (rng() % 50 == 0) store.close_all();
    if (rng() % 20 == 0) store.answer_probes(rng() % 2 == 0);
    std::this_thread::sleep_for(std::chrono::microseconds(rng() % 1000));
  }
  store.answer_probes(true);
  EXPECT_TRUE(eventually([&] {
    take();
    return got == made;
  })) << got
      << " of " << made;
  for (Token token = 0; token < made; ++token) ASSERT_EQ(replies_of[token], 1) << token;
  EXPECT_TRUE(eventually([&] { return client.figures().in_flight == 0; }));
  take();
  EXPECT_EQ(got, made);
  const Figures figures = client.figures();
  uint64_t sum = 0;
  for (const uint64_t count : figures.replies) sum += count;
  EXPECT_EQ(sum, made);
}

}  // namespace
}  // namespace orrery::state
