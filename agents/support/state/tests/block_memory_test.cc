// SPDX-License-Identifier: Apache-2.0
#include "support/state/block_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace orrery::state {
namespace {

TEST(BlockMemory, HasTheSmallestBlockThatHolds) {
  EXPECT_EQ(BlockMemory::order_of(0), 0);
  EXPECT_EQ(BlockMemory::order_of(1), 0);
  EXPECT_EQ(BlockMemory::order_of(64), 0);
  EXPECT_EQ(BlockMemory::order_of(65), 1);
  EXPECT_EQ(BlockMemory::order_of(128), 1);
  EXPECT_EQ(BlockMemory::order_of(129), 2);
  EXPECT_EQ(BlockMemory::order_of(BlockMemory::kLargestBytes), BlockMemory::kOrders - 1);
}

TEST(BlockMemory, BlocksDoNotOverlapAndJoinAgain) {
  BlockMemory memory(64 << 10);
  EXPECT_EQ(memory.units(), 1024u);
  struct Taken {
    uint32_t block;
    uint8_t order;
    uint8_t mark;
  };
  std::vector<Taken> taken;
  std::mt19937 rng(3);
  const auto check = [&](const Taken& t) {
    for (size_t i = 0; i < size_t{64} << t.order; ++i)
      if (memory.at(t.block)[i] != t.mark) return false;
    return true;
  };
  for (int round = 0; round < 20'000; ++round) {
    if (rng() % 2 == 0) {
      const auto order = static_cast<uint8_t>(rng() % BlockMemory::kOrders);
      const uint32_t block = memory.take(order);
      if (block == BlockMemory::kNone) continue;
      EXPECT_EQ(block % BlockMemory::units_of(order), 0u);
      taken.push_back({block, order, static_cast<uint8_t>(rng())});
      std::memset(memory.at(block), taken.back().mark, size_t{64} << order);
    } else if (!taken.empty()) {
      std::swap(taken[rng() % taken.size()], taken.back());
      ASSERT_TRUE(check(taken.back()));
      memory.give_back(taken.back().block, taken.back().order);
      taken.pop_back();
    }
  }
  for (const Taken& t : taken) memory.give_back(t.block, t.order);
  for (uint32_t n = 0; n < 8; ++n) EXPECT_NE(memory.take(BlockMemory::kOrders - 1), BlockMemory::kNone);
  EXPECT_EQ(memory.take(0), BlockMemory::kNone);
}

}  // namespace
}  // namespace orrery::state
