// SPDX-License-Identifier: Apache-2.0
#include "support/state/cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "nfs/testing/allocation_count.h"

namespace orrery::state {
namespace {

const KeySpace kSpace("chain", "nat");

std::string whole_key(std::string_view key) {
  return kSpace.prefix() + std::string(key);
}

void put(Cache& cache, std::string_view key, std::string_view value, uint8_t connection = 0) {
  cache.insert(as_bytes(whole_key(key)), as_bytes(value), connection);
}

std::string look(Cache& cache, std::string_view key) {
  const auto found = cache.find(kSpace.key(as_bytes(key)));
  return found ? std::string(as_text(found->value)) : "absent";
}

TEST(Cache, GivesWhatWasPutThere) {
  Cache cache(10, 1 << 16);
  EXPECT_EQ(look(cache, "a"), "absent");
  put(cache, "a", "1");
  put(cache, "b", "");
  put(cache, "a", "2");
  EXPECT_EQ(look(cache, "a"), "2");
  EXPECT_EQ(look(cache, "b"), "");
  EXPECT_EQ(cache.entries(), 2u);
  EXPECT_EQ(cache.bytes(), 128u);
  cache.erase(as_bytes(whole_key("a")));
  cache.erase(as_bytes(whole_key("none")));
  EXPECT_EQ(look(cache, "a"), "absent");
  EXPECT_EQ(cache.entries(), 1u);
}

TEST(Cache, PutsOutWhatWasUsedLongestAgo) {
  Cache cache(3, 1 << 16);
  for (const char* const key : {"a", "b", "c"}) put(cache, key, key);
  EXPECT_EQ(look(cache, "a"), "a");
  put(cache, "d", "d");
  EXPECT_EQ(look(cache, "b"), "absent");
  for (const char* const key : {"a", "c", "d"}) EXPECT_EQ(look(cache, key), key);
  EXPECT_EQ(cache.evictions(), 1u);
}

TEST(Cache, MakesRoomForALargeValueAmongSmallOnes) {
  Cache cache(1000, 32 << 10);
  for (int n = 0; n < 400; ++n) put(cache, std::to_string(n), "x");
  put(cache, "large", std::string(kMaxValueBytes, 'y'));
  EXPECT_EQ(look(cache, "large"), std::string(kMaxValueBytes, 'y'));
  EXPECT_GE(cache.entries(), 250u) << "only a part was put out";
  EXPECT_EQ(look(cache, "399"), "x");
}

TEST(Cache, ForgetsWhatAConnectionHasRead) {
  Cache cache(10, 1 << 16);
  put(cache, "a", "1", 0);
  put(cache, "b", "2", 1);
  cache.flush(0);
  EXPECT_EQ(look(cache, "a"), "absent");
  EXPECT_EQ(look(cache, "b"), "2");
  EXPECT_EQ(cache.entries(), 1u);
  put(cache, "a", "3", 0);
  EXPECT_EQ(look(cache, "a"), "3");
  cache.flush_all();
  EXPECT_EQ(cache.entries(), 0u);
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(look(cache, "a"), "absent");
  EXPECT_EQ(cache.evictions(), 0u);
}

TEST(Cache, OfNoEntriesHoldsNothing) {
  Cache cache(0, 0);
  put(cache, "a", "1");
  cache.erase(as_bytes(whole_key("a")));
  cache.flush_all();
  EXPECT_EQ(look(cache, "a"), "absent");
}

// Against a map that holds all: what the cache holds is what was put there last, and it allocates nothing.
TEST(Cache, HoldsNoOtherValueThanTheLast) {
  Cache cache(200, 64 << 10);
  std::map<std::string, std::pair<std::string, uint8_t>> last;
  std::mt19937 rng(4);
  uint64_t hits = 0;
  for (int round = 0; round < 40'000; ++round) {
    const std::string key = std::string(rng() % 40, 'k') + std::to_string(rng() % 300);
    const auto connection = static_cast<uint8_t>(rng() % 3);
    const std::string value(rng() % 8 == 0 ? rng() % (kMaxValueBytes + 1) : rng() % 60, static_cast<char>(rng()));
    const std::string in_store = whole_key(key);
    const uint32_t action = rng() % 1000;
    const uint64_t allocated = orrery::testing::allocation_count();
    if (action == 0) {
      cache.flush(connection);
    } else if (action < 300) {
      cache.insert(as_bytes(in_store), as_bytes(value), connection);
    } else if (action < 350) {
      cache.erase(as_bytes(in_store));
    }
    const auto found = cache.find(kSpace.key(as_bytes(key)));
    EXPECT_EQ(orrery::testing::allocation_count(), allocated);
    if (action == 0) {
      std::erase_if(last, [&](const auto& entry) { return entry.second.second == connection; });
    } else if (action < 300) {
      last[key] = {value, connection};
      ASSERT_TRUE(found);
    } else if (action < 350) {
      last.erase(key);
    }
    if (!found) continue;
    ++hits;
    ASSERT_TRUE(last.contains(key));
    EXPECT_EQ(as_text(found->value), last[key].first);
    EXPECT_EQ(found->connection, last[key].second);
    EXPECT_LE(cache.entries(), 200u);
    EXPECT_LE(cache.bytes(), size_t{64} << 10);
  }
  EXPECT_GT(hits, 5000u);
}

}  // namespace
}  // namespace orrery::state
