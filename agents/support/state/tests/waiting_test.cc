// SPDX-License-Identifier: Apache-2.0
#include "support/state/waiting.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

#include "nfs/testing/allocation_count.h"

namespace orrery::state {
namespace {

std::string released(WaitingByKey<char>& waiting, uint64_t token) {
  std::string out;
  waiting.release(token, [&](char handle) { out += handle; });
  return out;
}

TEST(WaitingByKey, GivesPacketsOfATokenBackInOrder) {
  WaitingByKey<char> waiting({.packets = 8, .packets_of_a_key = 8, .timeout_ns = 100});
  for (const auto& [token, handle] : {std::pair{1, 'a'}, {2, 'b'}, {1, 'c'}, {1, 'd'}})
    EXPECT_TRUE(waiting.park(token, handle, 0));
  EXPECT_TRUE(waiting.waits(1));
  EXPECT_FALSE(waiting.waits(3));
  EXPECT_EQ(waiting.keys(), 2u);
  EXPECT_EQ(released(waiting, 1), "acd");
  EXPECT_EQ(released(waiting, 1), "");
  EXPECT_EQ(released(waiting, 2), "b");
  EXPECT_EQ(waiting.size(), 0u);
}

TEST(WaitingByKey, HasRoomForSoManyInTotalAndOfAToken) {
  WaitingByKey<char> waiting({.packets = 4, .packets_of_a_key = 2, .timeout_ns = 100});
  EXPECT_TRUE(waiting.park(1, 'a', 0));
  EXPECT_TRUE(waiting.park(1, 'b', 0));
  EXPECT_FALSE(waiting.park(1, 'c', 0));
  EXPECT_TRUE(waiting.park(2, 'd', 0));
  EXPECT_TRUE(waiting.park(3, 'e', 0));
  EXPECT_FALSE(waiting.park(4, 'f', 0));
  EXPECT_EQ(waiting.refused(), 2u);
  EXPECT_EQ(released(waiting, 1), "ab");
  EXPECT_TRUE(waiting.park(4, 'f', 0));
}

TEST(WaitingByKey, GivesBackWhatHasWaitedTooLong) {
  WaitingByKey<char> waiting({.packets = 8, .packets_of_a_key = 8, .timeout_ns = 100});
  waiting.park(1, 'a', 0);
  waiting.park(2, 'b', 10);
  waiting.park(1, 'c', 20);
  std::string out;
  const auto each = [&](uint64_t token, char handle) { out += std::to_string(token) + handle; };
  EXPECT_EQ(waiting.expired(99, each), 0u);
  EXPECT_EQ(waiting.expired(115, each), 2u);
  EXPECT_EQ(out, "1a2b");
  EXPECT_FALSE(waiting.waits(2));
  EXPECT_EQ(released(waiting, 1), "c");
}

TEST(WaitingByKey, TakesPacketsBackWhileItGivesThemBack) {
  WaitingByKey<char> waiting({.packets = 3, .packets_of_a_key = 3, .timeout_ns = 100});
  for (const char handle : {'a', 'b', 'c'}) waiting.park(1, handle, 0);
  waiting.release(1, [&](char handle) { EXPECT_TRUE(waiting.park(1, handle, 0)); });
  EXPECT_EQ(waiting.size(), 3u);
  EXPECT_EQ(waiting.expired(100, [&](uint64_t token, char handle) { waiting.park(token, handle, 0); }), 3u);
  EXPECT_EQ(released(waiting, 1), "abc");
}

// Against queues of which it must be a bounded form. It allocates nothing.
TEST(WaitingByKey, DoesWhatQueuesDo) {
  constexpr uint32_t kPackets = 50, kOfAKey = 6;
  constexpr uint64_t kTimeout = 40;
  WaitingByKey<uint32_t> waiting({.packets = kPackets, .packets_of_a_key = kOfAKey, .timeout_ns = kTimeout});
  struct Parked {
    uint32_t handle;
    uint64_t deadline;
  };
  std::map<uint64_t, std::deque<Parked>> model;
  size_t in_model = 0;
  std::mt19937 rng(5);
  for (uint32_t now = 0; now < 50'000; ++now) {
    const uint64_t token = rng() % 16 * 0x1'0000'0001;
    if (rng() % 4 != 0) {
      std::deque<Parked>& queue = model[token];
      const bool room = in_model < kPackets && queue.size() < kOfAKey;
      const uint64_t allocated = orrery::testing::allocation_count();
      const bool parked = waiting.park(token, now, now);
      EXPECT_EQ(orrery::testing::allocation_count(), allocated);
      ASSERT_EQ(parked, room);
      if (room) {
        queue.push_back({now, now + kTimeout});
        ++in_model;
      }
    } else {
      std::deque<Parked> queue = std::exchange(model[token], {});
      in_model -= queue.size();
      waiting.release(token, [&](uint32_t handle) {
        ASSERT_FALSE(queue.empty());
        EXPECT_EQ(handle, queue.front().handle);
        queue.pop_front();
      });
      EXPECT_TRUE(queue.empty());
    }
    waiting.expired(now, [&](uint64_t of, uint32_t handle) {
      ASSERT_FALSE(model[of].empty());
      EXPECT_EQ(model[of].front().handle, handle);
      EXPECT_LE(model[of].front().deadline, now);
      model[of].pop_front();
      --in_model;
    });
    for (const auto& [of, queue] : model) EXPECT_TRUE(queue.empty() || queue.front().deadline > now);
    ASSERT_EQ(waiting.size(), in_model);
  }
  EXPECT_GT(waiting.refused(), 100u);
}

}  // namespace
}  // namespace orrery::state
