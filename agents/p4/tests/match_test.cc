// SPDX-License-Identifier: Apache-2.0
// programs/matches.p4: the first byte says which table, the last two of the header are what its action wrote.
#include <random>

#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

struct Key {
  uint8_t a = 0;
  uint16_t b = 0;
  uint32_t c = 0;
  const char* d = "00000000000000000000000000000000";
};

class P4Match : public ::testing::Test {
 protected:
  std::string frame(uint8_t which, const Key& key) {
    const auto hex = [](uint64_t value, int digits) {
      std::string text(static_cast<size_t>(digits), '0');
      for (int i = digits; i > 0; --i, value >>= 4) text[static_cast<size_t>(i - 1)] = "0123456789abcdef"[value & 15];
      return text;
    };
    return hex(which, 2) + hex(key.a, 2) + hex(key.b, 4) + hex(key.c, 8) + key.d + "0000";
  }
  std::string result(uint8_t which, const Key& key) { return switch_.one(frame(which, key)).substr(48, 4); }
  ActionCall set(const std::string& table, uint64_t value) {
    return switch_.call("IngressImpl." + table, "IngressImpl.set", {value});
  }
  void add(const std::string& table, const std::vector<KeyMatch>& key, uint64_t value, int32_t priority = 0) {
    switch_.insert("IngressImpl." + table, key, set(table, value), priority);
  }

  Switch switch_{read_program("matches")};
};

KeyMatch wide(const char* hex, uint32_t length = 0) {
  return {.value = bytes_of(hex), .prefix_length = length};
}

TEST_F(P4Match, Exact) {
  add("exact_one", {exactly(5)}, 0x1234);
  EXPECT_EQ(result(0, {.a = 5}), "1234");
  EXPECT_EQ(result(0, {.a = 6}), "0000") << "the default is NoAction";
  add("exact_wide", {wide("20010db8000000000000000000000001"), exactly(1)}, 7);
  EXPECT_EQ(result(1, {.a = 1, .d = "20010db8000000000000000000000001"}), "0007");
  EXPECT_EQ(result(1, {.a = 2, .d = "20010db8000000000000000000000001"}), "0000");
  EXPECT_EQ(result(1, {.a = 1, .d = "20010db8000000000000000000000101"}), "0000");
}

TEST_F(P4Match, LongestPrefix) {
  add("by_prefix", {exactly(1), prefix(0x0a000000, 8)}, 8);
  add("by_prefix", {exactly(1), prefix(0x0a010000, 16)}, 16);
  add("by_prefix", {exactly(1), prefix(0x0a010203, 32)}, 32);
  add("by_prefix", {exactly(2), anything()}, 99);
  EXPECT_EQ(result(2, {.b = 1, .c = 0x0a010203}), "0020");
  EXPECT_EQ(result(2, {.b = 1, .c = 0x0a010204}), "0010");
  EXPECT_EQ(result(2, {.b = 1, .c = 0x0a020204}), "0008");
  EXPECT_EQ(result(2, {.b = 1, .c = 0x0b020204}), "0000");
  EXPECT_EQ(result(2, {.b = 2, .c = 0x0b020204}), "0063");
}

TEST_F(P4Match, LongestWidePrefix) {
  add("by_wide_prefix", {wide("20010db8000000000000000000000000", 32)}, 1);
  add("by_wide_prefix", {wide("20010db8000000008000000000000000", 65)}, 2);
  EXPECT_EQ(result(3, {.d = "20010db80000000080000000000000ff"}), "0002");
  EXPECT_EQ(result(3, {.d = "20010db80000000070000000000000ff"}), "0001");
  EXPECT_EQ(result(3, {.d = "20010db90000000070000000000000ff"}), "0000");
}

TEST_F(P4Match, TernaryByPriority) {
  add("by_mask", {masked(0x10, 0xf0), exactly(1), anything()}, 1, 10);
  add("by_mask", {masked(0x12, 0xff), exactly(1), anything()}, 2, 20);
  add("by_mask", {anything(), exactly(1), prefix(0xc0000000, 2)}, 3, 15);
  EXPECT_EQ(result(4, {.a = 0x12, .b = 1}), "0002");
  EXPECT_EQ(result(4, {.a = 0x13, .b = 1}), "0001");
  EXPECT_EQ(result(4, {.a = 0x13, .b = 1, .c = 0xc0000001}), "0003");
  EXPECT_EQ(result(4, {.a = 0x12, .b = 1, .c = 0xc0000001}), "0002");
  EXPECT_EQ(result(4, {.a = 0x12, .b = 2}), "0000");
  add("by_mask", {masked(0x12, 0xff), exactly(1), anything()}, 4, 30);
  EXPECT_EQ(result(4, {.a = 0x12, .b = 1}), "0004") << "the same key with another priority is another entry";
}

TEST_F(P4Match, RangeByPriority) {
  add("by_range", {between(1, 8), anything(), anything()}, 1, 1);
  add("by_range", {between(6, 12), between(100, 200), anything()}, 2, 2);
  add("by_range", {between(6, 6), anything(), masked(1, 1)}, 3, 3);
  EXPECT_EQ(result(5, {.a = 1}), "0001");
  EXPECT_EQ(result(5, {.a = 8}), "0001");
  EXPECT_EQ(result(5, {.a = 9}), "0000");
  EXPECT_EQ(result(5, {.a = 9, .b = 200}), "0002");
  EXPECT_EQ(result(5, {.a = 9, .b = 201}), "0000");
  EXPECT_EQ(result(5, {.a = 6, .b = 100}), "0002");
  EXPECT_EQ(result(5, {.a = 6, .b = 100, .c = 3}), "0003");
}

TEST_F(P4Match, Optional) {
  add("by_optional", {masked(1, 0xff), masked(2, 0xffff)}, 1, 3);
  add("by_optional", {anything(), masked(2, 0xffff)}, 2, 2);
  add("by_optional", {masked(1, 0xff), anything()}, 3, 1);
  EXPECT_EQ(result(6, {.a = 1, .b = 2}), "0001");
  EXPECT_EQ(result(6, {.a = 9, .b = 2}), "0002");
  EXPECT_EQ(result(6, {.a = 1, .b = 9}), "0003");
  EXPECT_EQ(result(6, {.a = 9, .b = 9}), "0000");
}

TEST_F(P4Match, Validity) {
  add("by_valid", {exactly(1)}, 0x77);
  EXPECT_EQ(result(7, {}), "0000");
  EXPECT_EQ(switch_.one(frame(0xff, {}) + frame(0, {})).substr(48, 4), "0077");
}

TEST_F(P4Match, EntriesOfTheProgramInItsOrder) {
  EXPECT_EQ(result(8, {.a = 0x11}), "0001") << "the first one that matches";
  EXPECT_EQ(result(8, {.a = 0x21}), "eeee");
  auto control = switch_.pipeline.control();
  Table& table = control.table(switch_.table("IngressImpl.fixed"));
  EXPECT_EQ(table.size(), 3u);
  std::vector<int32_t> priorities;
  table.each([&](EntryHandle handle) { priorities.push_back(table.entry(handle).priority); });
  EXPECT_EQ(priorities, (std::vector<int32_t>{3, 2, 1})) << "the larger wins, where in the JSON the smaller does";
  EXPECT_EQ(refusal([&] { table.remove({masked(0x10, 0xf0)}, 3); }), Refusal::kConstant);
  EXPECT_EQ(refusal([&] { table.clear(); }), Refusal::kConstant);
  EXPECT_EQ(refusal([&] { table.set_default_action(ActionCall{0}); }), Refusal::kConstant);
}

TEST_F(P4Match, ValidMatchKindOfOldPrograms) {
  auto program = read_program("matches");
  for (auto& table : program["pipelines"][0]["tables"])
    if (table["name"] == "IngressImpl.by_valid")
      table["key"] = {{{"match_type", "valid"}, {"target", "second"}, {"mask", nullptr}}};
  Switch with(program);
  with.insert("IngressImpl.by_valid", {exactly(1)}, with.call("IngressImpl.by_valid", "IngressImpl.set", {5}));
  EXPECT_EQ(with.one(frame(0xff, {}) + frame(0, {})).substr(48, 4), "0005");
  EXPECT_EQ(with.one(frame(7, {})).substr(48, 4), "0000");
}

TEST_F(P4Match, StaticMaskOfAKey) {
  auto program = read_program("matches");
  for (auto& table : program["pipelines"][0]["tables"])
    if (table["name"] == "IngressImpl.exact_one") table["key"][0]["mask"] = "0x0f";
  Switch with(program);
  with.insert("IngressImpl.exact_one", {exactly(5)}, with.call("IngressImpl.exact_one", "IngressImpl.set", {1}));
  EXPECT_EQ(with.one(frame(0, {.a = 0xf5})).substr(48, 4), "0001");
}

TEST_F(P4Match, GoesOnByTheActionThatRan) {
  switch_.insert("IngressImpl.by_action", {exactly(1)}, set("by_action", 0));
  switch_.insert("IngressImpl.by_action", {exactly(2)}, switch_.call("IngressImpl.by_action", "IngressImpl.other"));
  EXPECT_EQ(switch_.one(frame(10, {.a = 1})).substr(8, 8), "00000001");
  EXPECT_EQ(switch_.one(frame(10, {.a = 2})).substr(8, 8), "00000002");
  EXPECT_EQ(switch_.one(frame(10, {.a = 3})).substr(8, 8), "00000003");
}

TEST_F(P4Match, DirectMeterMarksByEntry) {
  const ActionCall call = switch_.call("IngressImpl.marked", "IngressImpl.set_marked", {9});
  const EntryHandle entry = switch_.insert("IngressImpl.marked", {exactly(1)}, call);
  const uint32_t table = switch_.table("IngressImpl.marked");
  EXPECT_EQ(result(9, {.a = 1}), "0000") << "green without rates";
  const MeterRates rates{.committed_rate = 1, .committed_burst = 1, .peak_rate = 2, .peak_burst = 2};
  switch_.pipeline.control().table(table).set_meter(entry, rates);
  EXPECT_EQ(switch_.pipeline.control().table(table).meter(entry), rates);
  EXPECT_EQ(result(9, {.a = 1}), "0000");
  EXPECT_EQ(result(9, {.a = 1}), "0001") << "yellow";
  EXPECT_EQ(result(9, {.a = 1}), "0002") << "red";
  switch_.now_ns += 1'000'000'000;
  EXPECT_EQ(result(9, {.a = 1}), "0000");
}

// Against a scan of all entries in order.
TEST(P4MatchIndex, FindsWhatAScanFinds) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 30; ++round) {
    const uint32_t words = 1 + static_cast<uint32_t>(round) % 3;
    const bool ranges = round % 2 == 0;
    MatchIndex index(words,
                     ranges ? std::vector<MatchIndex::RangeField>{{0, 1}} : std::vector<MatchIndex::RangeField>{});
    std::vector<std::optional<MatchIndex::Item>> all(200);
    std::vector<uint64_t> order(all.size());
    uint64_t inserted = 0;
    for (int step = 0; step < 2000; ++step) {
      const auto entry = static_cast<uint32_t>(random() % all.size());
      if (all[entry]) {
        EXPECT_EQ(index.find_same(*all[entry]), entry);
        index.remove(entry);
        all[entry].reset();
      } else {
        MatchIndex::Item item{
            .mask = {}, .key = {}, .lows = {}, .highs = {}, .rank = static_cast<int64_t>(random() % 8)};
        for (uint32_t i = 0; i < words; ++i) {
          item.mask.push_back(random() % 8 << 61 | (random() % 4));
          item.key.push_back(random() & item.mask.back());
        }
        if (ranges) {
          item.lows.push_back(random() % 16);
          item.highs.push_back(item.lows[0] + random() % 8);
        }
        if (index.find_same(item) == kNoEntry) {
          index.insert(entry, item);
          all[entry] = item;
          order[entry] = inserted++;
        }
      }
      std::vector<uint64_t> key(words);
      for (uint64_t& word : key) word = random();
      const uint64_t frame[] = {random() % 20};
      uint32_t best = kNoEntry;
      for (uint32_t i = 0; i < all.size(); ++i) {
        if (!all[i] || (ranges && (frame[0] < all[i]->lows[0] || frame[0] > all[i]->highs[0]))) continue;
        bool matches = true;
        for (uint32_t word = 0; word < words; ++word)
          matches = matches && (key[word] & all[i]->mask[word]) == all[i]->key[word];
        if (!matches) continue;
        if (best == kNoEntry || all[i]->rank > all[best]->rank ||
            (all[i]->rank == all[best]->rank && order[i] < order[best]))
          best = i;
      }
      ASSERT_EQ(index.lookup(key.data(), frame), best);
    }
  }
}

}  // namespace
}  // namespace orrery::p4::testing
