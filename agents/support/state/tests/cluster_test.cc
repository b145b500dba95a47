// SPDX-License-Identifier: Apache-2.0
// The proxy and a Redis Cluster.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fake_store.h"
#include "redis_process.h"
#include "store_client.h"
#include "support/clock.h"
#include "support/state/slots.h"

namespace orrery::state {
namespace {

using testing::bulk;
using testing::eventually;
using testing::FakeStore;
using testing::RedisProcess;
using testing::StoreClient;
using testing::take_replies;
using testing::TestClient;

const std::vector<std::string> kClusterArguments{"--cluster-enabled",
                                                 "yes",
                                                 "--cluster-node-timeout",
                                                 "1000",
                                                 "--cluster-require-full-coverage",
                                                 "no",
                                                 "--repl-diskless-sync-delay",
                                                 "0",
                                                 "--cluster-replica-validity-factor",
                                                 "0"};

// Three masters, and a replica of the first.
class RedisCluster {
 public:
  static constexpr size_t kMasters = 3;

  RedisCluster() {
    for (size_t i = 0; i < kMasters; ++i) {
      ask(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first_slot(i)), std::to_string(first_slot(i + 1) - 1)});
      ask(i, {"FUNCTION", "LOAD", testing::kTestLibrary});
    }
    for (size_t i = 1; i <= kMasters; ++i)
      ask(0,
          {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i].port()), std::to_string(nodes_[i].cluster_port())});
    const auto all = [&](size_t i, std::string_view text) {
      return ask(i, {"CLUSTER", "INFO"}).find(text) != text.npos;
    };
    formed_ = eventually([&] {
      for (size_t i = 0; i <= kMasters; ++i)
        if (!all(i, "cluster_known_nodes:4") || !all(i, "cluster_state:ok")) return false;
      return true;
    });
    const std::string first = ask(0, {"CLUSTER", "MYID"});
    formed_ = formed_ && eventually([&] { return ask(kMasters, {"CLUSTER", "REPLICATE", first}) == "OK"; });
    formed_ = formed_ && eventually([&] {
                return ask(kMasters, {"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
              });
    // The first must know its replica before it dies.
    formed_ = formed_ && eventually([&] {
                return ask(1, {"CLUSTER", "NODES"}).find("slave " + first) != std::string::npos;
              });
  }

  bool formed() const { return formed_; }
  RedisProcess& node(size_t i) { return nodes_[i]; }
  std::string address() const {
    return "redis+cluster://" + nodes_[1].endpoint().text() + "," + nodes_[0].endpoint().text();
  }
  std::string ask(size_t i, std::initializer_list<std::string_view> parts) {
    return StoreClient(nodes_[i].endpoint()).command(parts);
  }
  static uint32_t first_slot(size_t master) { return static_cast<uint32_t>(kSlots * master / kMasters); }
  static size_t master_of(uint16_t slot) {
    size_t master = 0;
    while (slot >= first_slot(master + 1)) ++master;
    return master;
  }

 private:
  std::array<RedisProcess, kMasters + 1> nodes_{RedisProcess{kClusterArguments}, RedisProcess{kClusterArguments},
                                                RedisProcess{kClusterArguments}, RedisProcess{kClusterArguments}};
  bool formed_ = false;
};

// A chain whose state is at this master.
KeySpace space_at(size_t master) {
  for (int n = 0;; ++n) {
    const std::string chain = "chain-" + std::to_string(n);
    if (RedisCluster::master_of(slot_of(chain)) == master) return {chain, "test"};
  }
}

class ClusterClient {
 public:
  explicit ClusterClient(const std::string& address)
      : proxy_({.store = StoreAddress::parse(address), .name = "test", .stale_bound_ms = 500, .deadline_ms = 5000}),
        side_(proxy_.attach({.cache_entries = 100, .cache_bytes = 1 << 16})) {}

  bool connected() {
    return eventually([&] { return proxy_.figures().connected; });
  }
  Figures figures() const { return proxy_.figures(); }
  std::string fetched(const KeySpace& space) {
    return side_->fetch(1, space.key(as_bytes("a")), monotonic_ns()) ? reply() : "no room";
  }
  std::string put(const KeySpace& space, std::string_view value) {
    const StoreKey keys[] = {space.key(as_bytes("a"))};
    const Bytes arguments[] = {as_bytes(value)};
    return side_->call(1, "test_put", keys, arguments, monotonic_ns()) ? reply() : "no room";
  }
  std::string call_without_keys(std::string_view function) {
    return side_->call(1, function, {}, {}, monotonic_ns()) ? reply() : "no room";
  }
  std::string look(const KeySpace& space) {
    Reply none[1];
    side_->take(none);
    const Lookup found = side_->find(space.key(as_bytes("a")), monotonic_ns());
    return found.hit ? std::string(as_text(found.value)) : "miss";
  }

 private:
  std::string reply() {
    const auto replies = take_replies(*side_, 1);
    return replies.empty() ? "no reply" : testing::shown_reply(replies[0].outcome, replies[0].value);
  }

  Proxy proxy_;
  std::unique_ptr<PacketSide> side_;
};

void move_slot(RedisCluster& cluster, uint16_t slot, size_t from, size_t to, ClusterClient& client,
               const KeySpace& space) {
  const std::string number = std::to_string(slot);
  const std::string from_id = cluster.ask(from, {"CLUSTER", "MYID"});
  const std::string to_id = cluster.ask(to, {"CLUSTER", "MYID"});
  ASSERT_EQ(cluster.ask(to, {"CLUSTER", "SETSLOT", number, "IMPORTING", from_id}), "OK");
  ASSERT_EQ(cluster.ask(from, {"CLUSTER", "SETSLOT", number, "MIGRATING", to_id}), "OK");
  EXPECT_EQ(client.put(space, "asked"), "value asked") << "what is not there yet is put where the slot goes";
  EXPECT_EQ(client.fetched(space), "value asked");
  EXPECT_EQ(cluster.ask(from, {"CLUSTER", "COUNTKEYSINSLOT", number}), "0");
  EXPECT_GE(client.figures().redirections, 2u);
  ASSERT_EQ(cluster.ask(to, {"CLUSTER", "SETSLOT", number, "NODE", to_id}), "OK");
  ASSERT_EQ(cluster.ask(from, {"CLUSTER", "SETSLOT", number, "NODE", to_id}), "OK");
}

TEST(RedisClusterTest, FollowsSlotsAndMasters) {
  RedisCluster cluster;
  ASSERT_TRUE(cluster.formed());
  ClusterClient client(cluster.address());
  ASSERT_TRUE(client.connected()) << client.figures().reason;
  EXPECT_TRUE(eventually([&] { return client.figures().connections == 3; }));
  const std::array<KeySpace, 3> spaces{space_at(0), space_at(1), space_at(2)};
  for (size_t i = 0; i < spaces.size(); ++i) {
    EXPECT_EQ(client.put(spaces[i], std::to_string(i)), "value " + std::to_string(i));
    EXPECT_EQ(client.fetched(spaces[i]), "value " + std::to_string(i));
  }
  for (size_t i = 0; i < spaces.size(); ++i) {
    const std::string key = spaces[i].prefix() + "a";
    EXPECT_TRUE(eventually([&] { return client.look(spaces[i]) == std::to_string(i); }));
    EXPECT_EQ(cluster.ask(i, {"SET", key, "changed"}), "OK");
    EXPECT_TRUE(eventually([&] { return client.look(spaces[i]) == "miss"; }));
  }
  EXPECT_EQ(client.call_without_keys("test_table").substr(0, 5), "value");

  const KeySpace moving("moving-chain", "test");
  const uint16_t slot = slot_of("moving-chain");
  const size_t from = RedisCluster::master_of(slot);
  move_slot(cluster, slot, from, (from + 1) % 3, client, moving);
  EXPECT_EQ(client.put(moving, "moved"), "value moved");
  EXPECT_EQ(client.fetched(moving), "value moved");

  // The first master dies: what it held comes back with its replica, the others serve all the time.
  EXPECT_EQ(client.put(spaces[0], "kept"), "value kept");
  StoreClient replica(cluster.node(3).endpoint());
  EXPECT_EQ(replica.command({"READONLY"}), "OK");
  ASSERT_TRUE(eventually([&] { return replica.command({"GET", spaces[0].prefix() + "a"}) == "kept"; }));
  EXPECT_EQ(client.fetched(spaces[0]), "value kept");
  cluster.node(0).kill_now();
  EXPECT_TRUE(eventually([&] { return client.look(spaces[0]) == "miss"; }));
  EXPECT_TRUE(eventually([&] { return !client.figures().connected; }));
  EXPECT_NE(client.figures().reason, "");
  int served_meanwhile = 0;
  EXPECT_TRUE(eventually([&] {
    served_meanwhile += client.fetched(spaces[1]) == "value changed" ? 1 : 0;
    return client.fetched(spaces[0]) == "value kept";
  })) << client.figures().reason;
  EXPECT_GT(served_meanwhile, 1);
  EXPECT_TRUE(client.connected()) << client.figures().reason;
  EXPECT_TRUE(eventually([&] { return client.put(spaces[0], "after") == "value after"; }));
  EXPECT_TRUE(eventually([&] { return client.figures().in_flight == 0; }));
}

// All slots at itself.
std::string own_slots(const Endpoint& endpoint) {
  return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n" + bulk(endpoint.host) + ":" + std::to_string(endpoint.port) + "\r\n" +
         bulk("id");
}

TEST(ClusterFaults, ARedirectionIsFollowedOnce) {
  std::atomic<int> asked{0};
  std::atomic<const FakeStore*> self{nullptr};
  FakeStore store([&](const FakeStore::Command& command) {
    while (self == nullptr) std::this_thread::yield();
    const Endpoint endpoint = self.load()->endpoint();
    if (command[0] == "CLUSTER") return own_slots(endpoint);
    ++asked;
    return "-MOVED 1 " + endpoint.text() + "\r\n";
  });
  self = &store;
  TestClient client("redis+cluster://" + store.endpoint().text());
  ASSERT_TRUE(client.connected()) << client.figures().reason;
  EXPECT_TRUE(client.fetched("a").starts_with("refused MOVED"));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(client.figures().redirections, 1u);
}

TEST(ClusterFaults, ARequestWaitsForWhomItIsSentTo) {
  FakeStore second([](const FakeStore::Command&) { return bulk("from the second"); });
  std::atomic<const FakeStore*> self{nullptr};
  FakeStore first([&](const FakeStore::Command& command) {
    while (self == nullptr) std::this_thread::yield();
    if (command[0] == "CLUSTER") return own_slots(self.load()->endpoint());
    return "-ASK 1 " + second.endpoint().text() + "\r\n";
  });
  self = &first;
  TestClient client("redis+cluster://" + first.endpoint().text());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(second.accepted(), 0u);
  EXPECT_EQ(client.fetched("a"), "value from the second");
}

TEST(ClusterFaults, AStoreWithoutClusterIsNamed) {
  RedisProcess redis;
  StoreClient(redis.endpoint()).command({"FUNCTION", "LOAD", testing::kTestLibrary});
  TestClient client("redis+cluster://" + redis.endpoint().text());
  EXPECT_TRUE(
      eventually([&] { return client.figures().reason.find("cluster support disabled") != std::string::npos; }));
  EXPECT_EQ(client.fetched("a"), "away");
}

TEST(ClusterFaults, SlotsThatCannotBeReadAreNamed) {
  FakeStore store([](const FakeStore::Command&) { return std::string("*1\r\n:1\r\n"); });
  TestClient client("redis+cluster://" + store.endpoint().text());
  EXPECT_TRUE(eventually([&] { return client.figures().reason.find("cannot be read") != std::string::npos; }));
  EXPECT_EQ(client.fetched("a"), "away");
}

}  // namespace
}  // namespace orrery::state
