// SPDX-License-Identifier: Apache-2.0
// How old a served value may be, with a writer beside the proxy and a path that hangs.
#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "fake_store.h"
#include "redis_process.h"
#include "store_client.h"
#include "support/clock.h"

namespace orrery::state {
namespace {

using testing::eventually;
using testing::RedisProcess;
using testing::Relay;
using testing::StoreClient;
using testing::TestClient;

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kBoundMs = 150;
constexpr uint64_t kBoundNs = kBoundMs * kMs;
constexpr size_t kMaxVersions = 1 << 20;

// The versions of a value, and when each was there for all to see.
class Versions {
 public:
  // Before the next version is written, and when that was acknowledged.
  uint64_t begin_next() const { return written_.load() + 1; }
  void end_next() {
    const uint64_t version = written_.load() + 1;
    acknowledged_ns_[version] = monotonic_ns();
    written_.store(version);
  }
  uint64_t written() const { return written_.load(); }

  // How long the version had been replaced at a time; 0 where it was not.
  uint64_t stale_ns(uint64_t version, uint64_t at_ns) const {
    if (version >= written_.load()) return 0;
    const uint64_t replaced_ns = acknowledged_ns_[version + 1];
    return replaced_ns < at_ns ? at_ns - replaced_ns : 0;
  }

 private:
  std::vector<uint64_t> acknowledged_ns_ = std::vector<uint64_t>(kMaxVersions);
  std::atomic<uint64_t> written_{0};
};

class BoundTest : public ::testing::Test {
 protected:
  BoundTest() { StoreClient(redis_.endpoint()).command({"FUNCTION", "LOAD", testing::kTestLibrary}); }

  // Writes version after version until stop_.
  void write() {
    StoreClient writer(redis_.endpoint());
    const std::string key = KeySpace("chain", "test").prefix() + "a";
    std::mt19937 rng(6);
    while (!stop_ && versions_.written() + 2 < kMaxVersions) {
      writer.command({"SET", key, std::to_string(versions_.begin_next())});
      versions_.end_next();
      std::this_thread::sleep_for(std::chrono::microseconds(rng() % 100'000));
    }
  }

  // One look, and a fetch where it is a miss and none is under way.
  void look_once(TestClient& client) {
    Reply replies[8];
    const size_t got = client.side().take(replies);
    if (got != 0) fetching_ = false;
    const uint64_t now_ns = monotonic_ns();
    const Lookup found = client.side().find(client.space().key(as_bytes("a")), now_ns);
    if (!found.hit) {
      if (!fetching_) fetching_ = client.fetch(1, "a");
      return;
    }
    uint64_t version = 0;
    std::from_chars(reinterpret_cast<const char*>(found.value.data()),
                    reinterpret_cast<const char*>(found.value.data()) + found.value.size(), version);
    const uint64_t stale_ns = versions_.stale_ns(version, now_ns);
    ++hits_;
    if (stale_ns > 0) ++stale_hits_;
    longest_stale_ns_ = std::max(longest_stale_ns_, stale_ns);
  }

  void look_for(TestClient& client, uint64_t duration_ms) {
    const uint64_t end_ns = monotonic_ns() + duration_ms * kMs;
    while (monotonic_ns() < end_ns) look_once(client);
  }

  // Looks until a value is served.
  bool look_until_hit(TestClient& client) {
    const uint64_t hits = hits_;
    return eventually([&] {
      look_once(client);
      return hits_ > hits;
    });
  }

  RedisProcess redis_;
  Versions versions_;
  std::atomic<bool> stop_{false};
  bool fetching_ = false;
  uint64_t hits_ = 0;
  uint64_t stale_hits_ = 0;
  uint64_t longest_stale_ns_ = 0;
};

TEST_F(BoundTest, HoldsWhenThePathHangs) {
  Relay relay(redis_.endpoint());
  TestClient client(relay.address(), kBoundMs, 50);
  ASSERT_TRUE(client.connected());
  std::thread writer([&] { write(); });
  int rounds = 0;
  for (; rounds < 40 && (rounds < 3 || stale_hits_ == 0); ++rounds) {
    look_for(client, 50);
    EXPECT_TRUE(look_until_hit(client));
    relay.hold(true);
    look_for(client, kBoundMs + 100);
    relay.hold(false);
  }
  EXPECT_TRUE(look_until_hit(client));
  stop_ = true;
  writer.join();
  EXPECT_LE(longest_stale_ns_, kBoundNs);
  EXPECT_GT(stale_hits_, 0u) << "the path has hung, so what was served had been replaced";
}

TEST_F(BoundTest, HoldsWhenTheStoreIsStopped) {
  TestClient client(redis_.unix_address(), kBoundMs, 50);
  ASSERT_TRUE(client.connected());
  std::thread writer([&] { write(); });
  for (int round = 0; round < 3; ++round) {
    look_for(client, 50);
    redis_.stop();
    look_for(client, kBoundMs + 50);
    Reply replies[8];
    client.side().take(replies);
    EXPECT_FALSE(client.side().find(client.space().key(as_bytes("a")), monotonic_ns()).hit) << "nobody vouches for it";
    redis_.go_on();
    fetching_ = false;
    EXPECT_TRUE(look_until_hit(client));
  }
  stop_ = true;
  writer.join();
  EXPECT_LE(longest_stale_ns_, kBoundNs);
}

TEST_F(BoundTest, AValueThatNobodyChangesIsServedWithoutEnd) {
  TestClient client(redis_.unix_address(), kBoundMs);
  ASSERT_TRUE(client.connected());
  ASSERT_EQ(client.called("test_put", "a", {"1"}), "value 1");
  ASSERT_EQ(client.fetched("a"), "value 1");
  const uint64_t fetched_ns = monotonic_ns();
  EXPECT_TRUE(eventually([&] { return monotonic_ns() > fetched_ns + 4 * kBoundNs && client.look("a") == "1"; }));
  EXPECT_EQ(client.figures().sides.requests, 2u);
}

}  // namespace
}  // namespace orrery::state
