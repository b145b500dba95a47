// SPDX-License-Identifier: Apache-2.0
// The proxy and a real store.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "redis_process.h"
#include "store_client.h"

namespace orrery::state {
namespace {

using testing::eventually;
using testing::RedisProcess;
using testing::StoreClient;
using testing::take_replies;
using testing::TestClient;

class StoreTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    redis_ = new RedisProcess();
    StoreClient(redis_->endpoint()).command({"FUNCTION", "LOAD", "REPLACE", testing::kTestLibrary});
  }
  static void TearDownTestSuite() {
    delete redis_;
    redis_ = nullptr;
  }
  void SetUp() override { other_.command({"FLUSHALL"}); }

  // What the proxy has cached of the key is gone soon.
  static bool forgets(TestClient& client, std::string_view key) {
    return eventually([&] { return client.look(key) == "miss"; });
  }

  static RedisProcess* redis_;
  StoreClient other_{redis_->endpoint()};
};

RedisProcess* StoreTest::redis_ = nullptr;

TEST_F(StoreTest, ReadsAndCachesValues) {
  TestClient client(redis_->unix_address());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.fetched("a"), "absent");
  EXPECT_EQ(client.look("a"), "miss");
  const std::string value("\0\r\n\xff", 4);
  other_.command({"SET", client.store_key("a"), value});
  EXPECT_EQ(client.fetched("a"), "value " + value);
  EXPECT_TRUE(eventually([&] { return client.look("a") == value; }));
  const Figures figures = client.figures();
  EXPECT_EQ(figures.replies[static_cast<size_t>(Outcome::kValue)], 1u);
  EXPECT_EQ(figures.replies[static_cast<size_t>(Outcome::kAbsent)], 1u);
  EXPECT_EQ(figures.fetch_latency.count(), 2u);
  EXPECT_EQ(figures.sides.requests, 2u);
  EXPECT_EQ(figures.sides.cache_entries, 1u);
  EXPECT_EQ(figures.connections, 1u);
  EXPECT_EQ(figures.reason, "");
}

TEST_F(StoreTest, ForgetsWhatOthersChange) {
  TestClient client(redis_->tcp_address());
  ASSERT_TRUE(client.connected());
  const std::string key = client.store_key("a");
  const auto cache_it = [&] {
    other_.command({"SET", key, "1"});
    ASSERT_EQ(client.fetched("a"), "value 1");
  };
  cache_it();
  other_.command({"SET", key, "2"});
  EXPECT_TRUE(forgets(client, "a"));
  EXPECT_EQ(client.fetched("a"), "value 2");
  cache_it();
  other_.command({"DEL", key});
  EXPECT_TRUE(forgets(client, "a"));
  cache_it();
  other_.command({"FCALL", "test_put", "1", key, "3"});
  EXPECT_TRUE(forgets(client, "a"));
  cache_it();
  other_.command({"FLUSHALL"});
  EXPECT_TRUE(forgets(client, "a"));
  cache_it();
  other_.command({"PEXPIRE", key, "1"});
  EXPECT_TRUE(forgets(client, "a"));
  EXPECT_TRUE(eventually([&] { return client.look("a") == "miss" && client.figures().sides.invalidations >= 3; }));
}

TEST_F(StoreTest, ForgetsWhatItChangesItself) {
  TestClient client(redis_->unix_address());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.called("test_put", "a", {"1"}), "value 1");
  EXPECT_EQ(client.fetched("a"), "value 1");
  EXPECT_EQ(client.called("test_put", "a", {"2"}), "value 2");
  EXPECT_TRUE(forgets(client, "a"));
  // Requests are answered in order, so what is read behind a change is not older.
  for (int n = 0; n < 200; ++n) {
    const std::string text = std::to_string(n);
    ASSERT_TRUE(client.call(1, "test_put", "a", {text}));
    ASSERT_TRUE(client.fetch(2, "a"));
    const auto replies = take_replies(client.side(), 2);
    ASSERT_EQ(replies.size(), 2u);
    EXPECT_EQ(replies[1].value, text);
    const std::string cached = client.look("a");
    EXPECT_TRUE(cached == text || cached == "miss") << cached;
  }
}

TEST_F(StoreTest, EachPacketSideForgets) {
  TestClient client(redis_->unix_address());
  ASSERT_TRUE(client.connected());
  const auto second = client.proxy().attach({.cache_entries = 10, .cache_bytes = 8192});
  const std::string key = client.store_key("a");
  other_.command({"SET", key, "1"});
  ASSERT_EQ(client.fetched("a"), "value 1");
  ASSERT_TRUE(second->fetch(1, client.space().key(as_bytes("a")), ~uint64_t{0}));
  ASSERT_EQ(take_replies(*second, 1).size(), 1u);
  other_.command({"SET", key, "2"});
  EXPECT_TRUE(eventually([&] {
    Reply none[1];
    second->take(none);
    client.side().take(none);
    return client.figures().sides.invalidations == 2;
  }));
  for (PacketSide* const side : {second.get(), &client.side()})
    EXPECT_FALSE(side->find(client.space().key(as_bytes("a")), 0).hit);
}

TEST_F(StoreTest, CallsFunctions) {
  TestClient client(redis_->unix_address());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.called("test_add", "n", {"41"}), "value 41");
  EXPECT_EQ(client.called("test_add", "n", {"1"}), "value 42");
  EXPECT_EQ(client.called("test_nothing", "n", {}), "absent");
  EXPECT_EQ(client.called("test_true", "n", {}), "value 1");
  EXPECT_EQ(client.called("test_refuse", "n", {}), "refused NOT_TODAY come again");
  EXPECT_TRUE(client.called("test_raise", "n", {}).find("it broke") != std::string::npos);
  EXPECT_TRUE(client.called("no_such_function", "n", {}).starts_with("refused ERR"));
  EXPECT_EQ(client.called("test_large", "n", {"4096"}), "value " + std::string(4096, 'x'));
  EXPECT_EQ(client.called("test_large", "n", {"4097"}), "refused the store's value has 4097 bytes, of at most 4096");
  ASSERT_TRUE(client.call(3, "test_table", "n", {}));
  const auto replies = take_replies(client.side(), 1);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies[0].encoded);
  EXPECT_EQ(replies[0].value, "*2\r\n:1\r\n$3\r\ntwo\r\n");
  other_.command({"RPUSH", client.store_key("list"), "x"});
  EXPECT_TRUE(client.fetched("list").starts_with("refused WRONGTYPE"));
}

TEST_F(StoreTest, PostsAndCountsWhatFails) {
  TestClient client(redis_->unix_address());
  ASSERT_TRUE(client.connected());
  for (int n = 0; n < 1000; ++n) ASSERT_TRUE(client.post("test_add", "n", {"1"}));
  ASSERT_TRUE(client.post("test_refuse", "n", {}));
  EXPECT_TRUE(eventually([&] { return client.figures().in_flight == 0 && client.figures().posts_failed[2] == 1; }));
  EXPECT_EQ(other_.command({"GET", client.store_key("n")}), "1000");
  EXPECT_EQ(client.figures().sides.posts, 1001u);
  EXPECT_EQ(client.side().outstanding(), 0u);
}

TEST_F(StoreTest, SendsWhatWasPostedBeforeThePacketSideWent) {
  TestClient client(redis_->unix_address());
  ASSERT_TRUE(client.connected());
  auto second = client.proxy().attach({});
  const StoreKey keys[] = {client.space().key(as_bytes("n"))};
  const Bytes arguments[] = {as_bytes("1")};
  for (int n = 0; n < 100; ++n) ASSERT_TRUE(second->post("test_add", keys, arguments, ~uint64_t{0}));
  ASSERT_TRUE(second->fetch(1, keys[0], ~uint64_t{0}));
  second.reset();
  EXPECT_TRUE(eventually([&] { return other_.command({"GET", client.store_key("n")}) == "100"; }));
  EXPECT_TRUE(eventually([&] { return client.figures().sides.posts == 100; })) << "what it has counted stays";
  EXPECT_EQ(client.fetched("n"), "value 100");
}

// Several packet threads at once: each gets its own replies, and each request one.
TEST_F(StoreTest, ServesManyPacketThreads) {
  TestClient client(redis_->unix_address());
  ASSERT_TRUE(client.connected());
  constexpr Token kThreads = 4, kRounds = 60, kAtOnce = 50;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (Token t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto side = client.proxy().attach({.cache_entries = 100, .cache_bytes = 1 << 16});
      const std::string key = "counter-" + std::to_string(t);
      const StoreKey keys[] = {client.space().key(as_bytes(key))};
      const Bytes one[] = {as_bytes("1")};
      Token next = 0;
      for (Token round = 0; round < kRounds; ++round) {
        for (Token n = 0; n < kAtOnce; ++n)
          if (!side->call(round * kAtOnce + n, "test_add", keys, one, ~uint64_t{0})) ++wrong;
        for (const auto& reply : take_replies(*side, kAtOnce)) {
          if (reply.token != next || reply.value != std::to_string(next + 1)) ++wrong;
          ++next;
        }
      }
      if (next != kRounds * kAtOnce) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(client.figures().replies[0], kThreads * kRounds * kAtOnce);
}

TEST_F(StoreTest, ShowsItsNameAndNeedsFewRights) {
  other_.command({"ACL", "SETUSER", "nf", "on", ">se:cret", "~state:*", "-@all", "+hello", "+client|tracking",
                  "+client|setname", "+ping", "+get", "+fcall", "+fcall_ro", "+set"});
  const std::string address = "redis://nf:se%3acret@" + redis_->endpoint().text();
  TestClient client(address);
  ASSERT_TRUE(client.connected()) << client.figures().reason;
  EXPECT_NE(other_.command({"CLIENT", "LIST"}).find("name=orrery-test"), std::string::npos);
  EXPECT_EQ(client.called("test_put", "a", {"1"}), "value 1");
  EXPECT_EQ(client.fetched("a"), "value 1");
  const StoreKey other_keys[] = {{"other", {}}};
  ASSERT_TRUE(client.side().fetch(1, other_keys[0], ~uint64_t{0}));
  EXPECT_TRUE(take_replies(client.side(), 1).at(0).value.starts_with("NOPERM"));

  TestClient wrong("redis://nf:wrong@" + redis_->endpoint().text());
  EXPECT_TRUE(eventually([&] { return wrong.figures().reason.find("WRONGPASS") != std::string::npos; }));
  EXPECT_EQ(wrong.fetched("a"), "away");
  EXPECT_FALSE(wrong.figures().connected);
}

TEST_F(StoreTest, RefusesAStoreWithoutTheLibrary) {
  other_.command({"FUNCTION", "FLUSH"});
  TestClient client(redis_->unix_address());
  EXPECT_TRUE(eventually([&] { return client.figures().reason.find("lacks the functions") != std::string::npos; }));
  EXPECT_EQ(client.fetched("a"), "away");
  other_.command({"FUNCTION", "LOAD", "REPLACE", testing::kTestLibrary});
  EXPECT_TRUE(client.connected()) << "it tries again";
  EXPECT_EQ(client.fetched("a"), "absent");
}

TEST(StoreRestartTest, ConnectsAgain) {
  RedisProcess redis;
  const auto load = [&] { StoreClient(redis.endpoint()).command({"FUNCTION", "LOAD", testing::kTestLibrary}); };
  load();
  TestClient client(redis.unix_address());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.called("test_put", "a", {"1"}), "value 1");
  EXPECT_EQ(client.fetched("a"), "value 1");
  redis.kill_now();
  EXPECT_TRUE(eventually([&] { return client.look("a") == "miss"; }));
  EXPECT_TRUE(eventually([&] { return !client.figures().connected; }));
  EXPECT_NE(client.figures().reason, "");
  EXPECT_EQ(client.fetched("a"), "away");
  ASSERT_TRUE(client.post("test_add", "n", {"1"}));
  EXPECT_TRUE(eventually([&] { return client.figures().posts_failed[4] == 1; }));
  redis.start();
  load();
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.fetched("a"), "absent");
  EXPECT_EQ(client.figures().reconnects, 1u);
}

// A store that is stopped answers nothing: each request has its reply, at the deadline or when the connection is given
// up, and what comes late is dropped.
TEST(StoreRestartTest, AnswersForAStoreThatIsStopped) {
  RedisProcess redis;
  StoreClient(redis.endpoint()).command({"FUNCTION", "LOAD", testing::kTestLibrary});
  TestClient client(redis.unix_address(), 500, 60);
  ASSERT_TRUE(client.connected());
  redis.stop();
  Token made = 0;
  for (; made < 3000; ++made) ASSERT_TRUE(client.fetch(made, "a"));
  const auto replies = take_replies(client.side(), made);
  ASSERT_EQ(replies.size(), made);
  std::vector<bool> seen(made);
  for (const auto& reply : replies) {
    EXPECT_TRUE(reply.outcome == Outcome::kTimedOut || reply.outcome == Outcome::kAway);
    EXPECT_FALSE(seen[reply.token]);
    seen[reply.token] = true;
  }
  redis.go_on();
  EXPECT_TRUE(eventually([&] { return client.figures().in_flight == 0; }));
  const Figures figures = client.figures();
  EXPECT_EQ(figures.replies[0] + figures.replies[1], 0u);
  EXPECT_GE(figures.replies[3], 1u);
  EXPECT_TRUE(figures.late_replies > 0 || figures.replies[4] > 0 || figures.reconnects > 0 || !figures.connected);
  EXPECT_TRUE(eventually([&] { return client.connected() && client.fetched("a") == "absent"; }));
  Reply more[1];
  EXPECT_EQ(client.side().take(more), 0u);
}

}  // namespace
}  // namespace orrery::state
