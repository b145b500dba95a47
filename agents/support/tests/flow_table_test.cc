// SPDX-License-Identifier: Apache-2.0
#include "support/flow_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <random>

#include "support/flow_tuple.h"

namespace orrery {
namespace {

struct Key {
  uint32_t a;
  uint32_t b;
  bool operator==(const Key&) const = default;
};
using Table = FlowTable<Key, uint64_t>;

// What the table must do, in the plainest way: the front is the youngest.
struct Model {
  struct Item {
    Key key;
    uint64_t value;
    uint64_t seen;
  };
  std::list<Item> items;

  auto find(const Key& key) { return std::ranges::find(items, key, &Item::key); }
};

// Of any number of words: each of them changes the hash.
TEST(FlowTable, HashesTheWholeKey) {
  struct LongKey {
    std::array<uint64_t, 5> words;
    bool operator==(const LongKey&) const = default;
  };
  const FlowTable<LongKey, uint64_t> table(16, 0);
  std::mt19937_64 rng(7);
  for (int i = 0; i < 1000; ++i) {
    LongKey key{{rng(), rng(), rng(), rng(), rng()}};
    const uint32_t hash = table.hash(key);
    key.words[static_cast<size_t>(i) % 5] ^= uint64_t{1} << rng() % 64;
    ASSERT_NE(table.hash(key), hash) << i;
  }
}

TEST(FlowTable, EqualsAListOverRandomOperations) {
  std::mt19937_64 rng(1);
  Table table(50, 0);
  Model model;
  uint64_t now = 1;
  for (int step = 0; step < 200000; ++step) {
    now += 1 + rng() % 3;
    const Key key{static_cast<uint32_t>(rng() % 80), 7};
    const uint32_t hash = table.hash(key);
    Table::Entry* entry = table.find(key, hash);
    const auto item = model.find(key);
    ASSERT_EQ(entry != nullptr, item != model.items.end());
    switch (rng() % 4) {
      case 0:
        if (entry == nullptr) break;
        table.erase(*entry);
        model.items.erase(item);
        break;
      case 1:
        if (rng() % 8 != 0) break;
        {
          std::vector<uint64_t> erased;
          const uint32_t count = table.expire(now, 100, 3, [&](const Table::Entry& e) { erased.push_back(e.value); });
          ASSERT_EQ(count, erased.size());
          for (size_t n = 0; n < 3 && !model.items.empty() && now - model.items.back().seen >= 100; ++n) {
            ASSERT_LT(n, erased.size());
            ASSERT_EQ(erased[n], model.items.back().value);
            model.items.pop_back();
          }
        }
        break;
      default:
        if (entry != nullptr) {
          ASSERT_EQ(entry->value, item->value);
          table.touch(*entry, now);
          item->seen = now;
          model.items.splice(model.items.begin(), model.items, item);
          break;
        }
        if (table.full()) {
          ASSERT_EQ(table.oldest()->value, model.items.back().value);
          table.erase(*table.oldest());
          model.items.pop_back();
        }
        table.insert(key, hash, now).value = now;
        model.items.push_front({key, now, now});
    }
    ASSERT_EQ(table.size(), model.items.size());
    if (step % 100 != 0) continue;
    auto expected = model.items.begin();
    table.for_each([&](const Table::Entry& e) {
      EXPECT_EQ(e.value, expected->value);
      ++expected;
      return true;
    });
    ASSERT_EQ(expected, model.items.end());
  }
}

TEST(FlowTable, KeepsTheOrderToItsGranularity) {
  Table table(3, 100);
  for (uint32_t i = 0; i < 3; ++i) table.insert({i, 0}, table.hash({i, 0}), 1000 + i);
  const auto touch = [&](uint32_t i, uint64_t now) { table.touch(*table.find({i, 0}, table.hash({i, 0})), now); };
  touch(0, 1050);
  EXPECT_EQ(table.oldest()->key.a, 0u) << "used within the granularity";
  touch(0, 1101);
  EXPECT_EQ(table.oldest()->key.a, 1u);
  EXPECT_EQ(table.expire(1101, 50, 10, [](const auto&) {}), 2u);
  EXPECT_EQ(table.size(), 1u);
}

TEST(FlowTable, TakesEntriesAtTheirAgeInStrictOrder) {
  std::mt19937_64 rng(2);
  for (int round = 0; round < 200; ++round) {
    Table table(64, 0);
    std::vector<uint64_t> seen;
    const auto add = [&](uint32_t n, uint64_t at, const Table::Entry* older) -> Table::Entry& {
      seen.push_back(at);
      return table.insert_by_age({n, 0}, table.hash({n, 0}), at, older);
    };
    uint64_t now = 1000;
    for (uint32_t n = 0; n < rng() % 20; ++n) {
      seen.push_back(now += rng() % 3);
      table.insert({100 + n, 0}, table.hash({100 + n, 0}), now);
    }
    std::vector<uint64_t> ages(rng() % 40);
    for (uint64_t& at : ages) at = 980 + rng() % 60;
    std::ranges::sort(ages);
    const Table::Entry* last = nullptr;
    for (uint32_t n = 0; n < ages.size(); ++n) last = &add(n, ages[n], rng() % 3 == 0 ? nullptr : last);
    std::ranges::sort(seen, std::greater{});
    std::vector<uint64_t> order;
    table.for_each([&](const Table::Entry& e) {
      order.push_back(e.last_seen_ns);
      return true;
    });
    ASSERT_EQ(order, seen);
    std::vector<uint64_t> backwards;
    table.expire(2000, 0, 100, [&](const Table::Entry& e) { backwards.push_back(e.last_seen_ns); });
    std::ranges::reverse(backwards);
    ASSERT_EQ(backwards, seen);
  }
}

TEST(FlowTable, TakesOverAnotherTableInItsOrder) {
  using Lanes = FlowTable<Key, uint64_t, 2>;
  std::mt19937_64 rng(3);
  Lanes from(64, 100), to(200, 100);
  for (uint32_t n = 0; n < 64; ++n) from.insert({n, 0}, from.hash({n, 0}), 1000 + n, n % 2).value = n;
  for (uint32_t n = 0; n < 64; ++n) from.touch(*from.find({n, 0}, from.hash({n, 0})), 1000 + rng() % 90, n % 2);
  to.insert({1000, 0}, to.hash({1000, 0}), 2000).value = 1000;
  std::vector<uint64_t> order{1000};
  for (size_t lane = 0; lane < 2; ++lane) {
    while (Lanes::Entry* entry = from.youngest(lane)) {
      const Lanes::Entry& copy = to.copy_as_oldest(from, *entry);
      EXPECT_EQ(copy.last_seen_ns, entry->last_seen_ns);
      order.push_back(entry->value);
      from.erase(*entry);
    }
  }
  std::vector<uint64_t> got;
  to.for_each([&](const Lanes::Entry& e) {
    got.push_back(e.value);
    return true;
  });
  EXPECT_EQ(got, order);
  for (uint64_t n : got)
    ASSERT_NE(to.find({static_cast<uint32_t>(n), 0}, to.hash({static_cast<uint32_t>(n), 0})), nullptr);
  // Each moves to the young end when it would have in the other table.
  to.touch(*to.find({0, 0}, to.hash({0, 0})), 1099);
  EXPECT_EQ(to.youngest()->value, 1000u);
  to.touch(*to.find({0, 0}, to.hash({0, 0})), 1100);
  EXPECT_EQ(to.youngest()->value, 0u);
}

struct FlowFigures {
  uint64_t packets;
  uint64_t bytes;
  uint64_t since_ns;
};
static_assert(sizeof(FlowTable<FlowTuple, FlowFigures>::Entry) == 64, "a flow has one cache line");

FlowTuple random_flow(std::mt19937_64& rng) {
  // Some differ in their version alone, some in one word of an address alone.
  ParsedPacket p{};
  p.kind = PacketKind::kIpTransport;
  p.ip_proto = 6;
  p.dst_port = static_cast<uint16_t>(rng() % 2);
  if (rng() % 2 == 0) {
    p.ip_version = 4;
    p.ip_src = static_cast<uint32_t>(rng() % 6);
  } else {
    p.ip_version = 6;
    p.ipv6_src = {rng() % 3, rng() % 3};
    p.ipv6_dst = {rng() % 3, rng() % 3};
  }
  FlowTuple flow{};
  rng() % 2 == 0 ? flow.set(p) : flow.set_turned(p);
  return flow;
}

TEST(FlowTable, TellsFlowsOfBothIpVersionsApart) {
  std::mt19937_64 rng(3);
  FlowTable<FlowTuple, uint64_t> table(120, 0);
  std::list<std::pair<FlowTuple, uint64_t>> model;  // the front is the youngest
  for (uint64_t now = 1; now < 50'000; ++now) {
    const FlowTuple flow = random_flow(rng);
    const uint32_t hash = table.hash(flow);
    auto* entry = table.find(flow, hash);
    const auto item = std::ranges::find(model, flow, &std::pair<FlowTuple, uint64_t>::first);
    ASSERT_EQ(entry != nullptr, item != model.end());
    if (entry != nullptr) {
      ASSERT_EQ(entry->value, item->second);
      ASSERT_EQ(table.key_of(*entry), flow);
      ASSERT_TRUE(table.is_unused(*entry, flow, entry->last_seen_ns));
    }
    if (entry != nullptr && rng() % 3 == 0) {
      table.erase(*entry);
      model.erase(item);
    } else if (entry == nullptr) {
      if (table.full()) {
        ASSERT_EQ(table.key_of(*table.oldest()), model.back().first);
        table.erase(*table.oldest());
        model.pop_back();
      }
      table.insert(flow, hash, now).value = now;
      model.emplace_front(flow, now);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  EXPECT_TRUE(std::ranges::any_of(model, [](const auto& item) { return item.first.ip_version == 6; }));
  EXPECT_TRUE(std::ranges::any_of(model, [](const auto& item) { return item.first.ip_version == 4; }));
}

TEST(FlowTable, FillsToItsCapacity) {
  for (uint32_t capacity : {1u, 2u, 3u, 1000u, 4096u}) {
    Table table(capacity, 0);
    EXPECT_EQ(table.oldest(), nullptr);
    for (uint32_t i = 0; i < capacity; ++i) {
      ASSERT_FALSE(table.full());
      table.insert({i, i}, table.hash({i, i}), i);
    }
    EXPECT_TRUE(table.full());
    for (uint32_t i = 0; i < capacity; ++i) ASSERT_NE(table.find({i, i}, table.hash({i, i})), nullptr);
    EXPECT_EQ(table.find({0, 1}, table.hash({0, 1})), nullptr);
  }
}

}  // namespace
}  // namespace orrery
