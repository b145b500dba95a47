// SPDX-License-Identifier: Apache-2.0
#include "modules/merge/copy_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>

namespace orrery {
namespace {

// The same, without regard to cost.
struct TableModel {
  struct Known {
    CopyTable::State state;
    uint64_t since_ns;
    rte_mbuf* held;
  };
  std::map<uint64_t, Known> known;
  std::deque<uint64_t> open, done;

  void remove(std::deque<uint64_t>& from, uint64_t id) { from.erase(std::ranges::find(from, id)); }
};

// Not to be looked into.
rte_mbuf* packet_numbered(uint64_t n) {
  static std::array<uint64_t, 301> places;
  return reinterpret_cast<rte_mbuf*>(&places.at(n));
}

class TableAndModel {
 public:
  TableAndModel(uint32_t capacity, uint32_t held_each) : table(std::make_unique<CopyTable>(capacity, held_each)) {}

  void step(std::mt19937_64& rng, uint64_t now_ns) {
    const uint64_t id = 1 + rng() % 300;
    CopyTable::Entry* entry = table->find(id);
    const auto it = model.known.find(id);
    ASSERT_EQ(entry != nullptr, it != model.known.end());
    if (entry == nullptr) {
      if (table->open() == table->capacity()) finish(*table->oldest(), now_ns);
      const CopyTable::State state = rng() % 4 == 0 ? CopyTable::State::kDropped : CopyTable::State::kWaiting;
      CopyTable::Entry& made = table->insert(id, state, now_ns);
      rte_mbuf* held = state == CopyTable::State::kWaiting ? packet_numbered(id) : nullptr;
      table->held(made)[table->held_each() - 1] = held;
      model.known[id] = {state, now_ns, held};
      model.open.push_back(id);
    } else if (entry->state == CopyTable::State::kDone) {
      if (rng() % 2 == 0) return;
      table->forget(*entry);
      model.remove(model.done, id);
      model.known.erase(id);
    } else if (entry->state == CopyTable::State::kWaiting && rng() % 3 == 0) {
      table->held(*entry)[table->held_each() - 1] = nullptr;
      table->drop(*entry);
      it->second.state = CopyTable::State::kDropped;
      it->second.held = nullptr;
    } else if (rng() % 2 == 0) {
      finish(*entry, now_ns);
    }
  }

  void finish(CopyTable::Entry& entry, uint64_t now_ns) {
    const uint64_t id = entry.id;
    table->held(entry)[table->held_each() - 1] = nullptr;
    table->finish(entry, now_ns);
    if (model.done.size() == table->capacity()) {
      model.known.erase(model.done.front());
      model.done.pop_front();
    }
    model.remove(model.open, id);
    model.done.push_back(id);
    model.known[id] = {CopyTable::State::kDone, now_ns, nullptr};
  }

  void check() {
    const auto waiting =
        std::ranges::count_if(model.known, [](const auto& k) { return k.second.state == CopyTable::State::kWaiting; });
    ASSERT_EQ(table->open(), model.open.size());
    ASSERT_EQ(table->waiting(), waiting);
    ASSERT_EQ(table->oldest() == nullptr, model.open.empty());
    if (!model.open.empty()) {
      ASSERT_EQ(table->oldest()->id, model.open.front());
    }
    ASSERT_EQ(table->oldest_done() == nullptr, model.done.empty());
    if (!model.done.empty()) {
      ASSERT_EQ(table->oldest_done()->id, model.done.front());
    }
    for (uint64_t id = 0; id <= 300; ++id) {
      const CopyTable::Entry* entry = table->find(id);
      const auto it = model.known.find(id);
      ASSERT_EQ(entry != nullptr, it != model.known.end()) << id;
      if (entry == nullptr) continue;
      ASSERT_EQ(entry->state, it->second.state);
      ASSERT_EQ(entry->since_ns, it->second.since_ns);
      ASSERT_EQ(table->held(*entry)[table->held_each() - 1], it->second.held);
    }
  }

  std::unique_ptr<CopyTable> table;
  TableModel model;
};

TEST(CopyTableTest, DoesWhatAMapAndTwoListsDo) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 rng(seed);
    TableAndModel pair(static_cast<uint32_t>(1 + rng() % 80), static_cast<uint32_t>(1 + rng() % 3));
    for (uint64_t now_ns = 1; now_ns < 2000; ++now_ns) {
      pair.step(rng, now_ns);
      if (now_ns % 16 == 0) pair.check();
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << now_ns;
    }
  }
}

TEST(CopyTableTest, ATableOfAnotherSizeTakesTheNewestAndLeavesTheRest) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 rng(seed);
    TableAndModel from(64, 2);
    uint64_t now_ns = 1;
    for (; now_ns < 500; ++now_ns) from.step(rng, now_ns);
    const auto capacity = static_cast<uint32_t>(1 + rng() % 128);
    TableAndModel to(capacity, 2);
    to.table->take_newest(*from.table);
    for (std::deque<uint64_t> TableModel::*list : {&TableModel::open, &TableModel::done}) {
      while (!(from.model.*list).empty() && (to.model.*list).size() < capacity) {
        const uint64_t id = (from.model.*list).back();
        (from.model.*list).pop_back();
        (to.model.*list).push_front(id);
        to.model.known.insert(from.model.known.extract(id));
      }
    }
    from.check();
    to.check();
    for (; now_ns < 1000; ++now_ns) to.step(rng, now_ns);
    to.check();
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace orrery
