// SPDX-License-Identifier: Apache-2.0
// Entries from the control side: what is accepted, kept and refused, and that packets and control do not meet.
#include <atomic>
#include <chrono>
#include <thread>

#include "p4/tests/fixture.h"

namespace orrery::p4::testing {
namespace {

class P4Control : public ::testing::Test {
 protected:
  Table& table(Control& control, const std::string& name) {
    return control.table(switch_.table("IngressImpl." + name));
  }
  ActionCall set(const std::string& in, uint64_t value) {
    return switch_.call("IngressImpl." + in, "IngressImpl.set", {value});
  }

  Switch switch_{read_program("matches")};
};

TEST_F(P4Control, EntriesAreReadBackAsTheyWerePut) {
  auto control = switch_.pipeline.control();
  const std::vector<std::pair<std::string, TableEntry>> entries{
      {"exact_one", {.key = {exactly(5)}, .action = set("exact_one", 1), .idle_timeout_ns = 7}},
      {"exact_wide", {.key = {exactly(1), exactly(2)}, .action = set("exact_wide", 0xffff)}},
      {"by_prefix", {.key = {exactly(1), prefix(0x0a000000, 8)}, .action = set("by_prefix", 1)}},
      {"by_prefix", {.key = {exactly(1), anything()}, .action = set("by_prefix", 2)}},
      {"by_mask",
       {.key = {masked(0x10, 0xf0), exactly(3), prefix(0x80000000, 1)}, .priority = 4, .action = set("by_mask", 1)}},
      {"by_mask", {.key = {anything(), exactly(3), anything()}, .priority = 1, .action = set("by_mask", 1)}},
      {"by_range", {.key = {between(1, 2), anything(), masked(1, 1)}, .priority = 9, .action = set("by_range", 1)}},
      {"by_optional", {.key = {masked(1, 0xff), anything()}, .priority = 1, .action = set("by_optional", 1)}},
  };
  for (const auto& [name, entry] : entries) {
    const EntryHandle handle = table(control, name).insert(entry);
    EXPECT_EQ(table(control, name).entry(handle), entry) << name;
    EXPECT_EQ(table(control, name).find(entry.key, entry.priority), handle) << name;
    EXPECT_EQ(refusal([&] { table(control, name).insert(entry); }), Refusal::kAlreadyExists) << name;
  }
  for (const auto& [name, entry] : entries) {
    table(control, name).remove(entry.key, entry.priority);
    EXPECT_EQ(table(control, name).find(entry.key, entry.priority), std::nullopt);
    EXPECT_EQ(refusal([&] { table(control, name).remove(entry.key, entry.priority); }), Refusal::kNotFound);
    EXPECT_EQ(refusal([&] { table(control, name).modify(entry); }), Refusal::kNotFound);
  }
}

TEST_F(P4Control, RefusesWhatDoesNotFitTheTable) {
  auto control = switch_.pipeline.control();
  const auto put = [&](const std::string& name, const std::vector<KeyMatch>& key, int32_t priority = 0) {
    return refusal([&] { table(control, name).insert({.key = key, .priority = priority, .action = set(name, 1)}); });
  };
  EXPECT_EQ(put("exact_one", {}), Refusal::kInvalid) << "no key";
  EXPECT_EQ(put("exact_one", {exactly(256)}), Refusal::kInvalid) << "too wide";
  EXPECT_EQ(put("exact_one", {anything()}), Refusal::kInvalid);
  EXPECT_EQ(put("exact_one", {exactly(1)}, 1), Refusal::kInvalid) << "no priorities here";
  EXPECT_EQ(put("by_mask", {anything(), exactly(1), anything()}, 0), Refusal::kInvalid) << "a priority is needed";
  EXPECT_EQ(put("by_mask", {masked(1, 2), exactly(1), anything()}, 1), Refusal::kInvalid) << "outside of the mask";
  EXPECT_EQ(put("by_prefix", {exactly(1), prefix(0x0a000001, 8)}), Refusal::kInvalid) << "outside of the prefix";
  EXPECT_EQ(put("by_prefix", {exactly(1), prefix(0, 33)}), Refusal::kInvalid);
  EXPECT_EQ(put("by_range", {between(2, 1), anything(), anything()}, 1), Refusal::kInvalid);
  const auto act = [&](const EntryAction& action) {
    return refusal([&] { table(control, "exact_one").insert({.key = {exactly(1)}, .action = action}); });
  };
  EXPECT_EQ(act(switch_.call("IngressImpl.marked", "IngressImpl.set_marked", {1})), Refusal::kInvalid)
      << "another table's action";
  EXPECT_EQ(act(ActionCall{set("exact_one", 1).action, {}}), Refusal::kInvalid) << "an argument is missing";
  EXPECT_EQ(act(set("exact_one", 1 << 16)), Refusal::kInvalid) << "too wide an argument";
  EXPECT_EQ(act(ActionCall{9999, {}}), Refusal::kInvalid);
  EXPECT_EQ(act(MemberRef{1}), Refusal::kInvalid);
  EXPECT_EQ(refusal([&] {
              table(control, "by_mask")
                  .insert({.key = {anything(), exactly(1), anything()},
                           .priority = 1,
                           .action = set("by_mask", 1),
                           .idle_timeout_ns = 1});
            }),
            Refusal::kInvalid)
      << "no idle timeouts here";
  EXPECT_EQ(refusal([&] { table(control, "exact_one").entry(99); }), Refusal::kNotFound);
  EXPECT_EQ(refusal([&] { table(control, "exact_one").counter(99); }), Refusal::kNotFound);
  EXPECT_EQ(refusal([&] { control.table(999); }), Refusal::kNotFound);
}

TEST_F(P4Control, TablesHaveTheirSize) {
  auto control = switch_.pipeline.control();
  Table& entries = table(control, "exact_one");
  for (uint64_t i = 0; i < 4; ++i) entries.insert({.key = {exactly(i)}, .action = set("exact_one", i)});
  EXPECT_EQ(refusal([&] { entries.insert({.key = {exactly(4)}, .action = set("exact_one", 1)}); }), Refusal::kFull);
  entries.remove({exactly(2)}, 0);
  entries.insert({.key = {exactly(4)}, .action = set("exact_one", 1)});
  EXPECT_EQ(entries.size(), 4u);
  EXPECT_EQ(refusal([&] { entries.counter(0); }), Refusal::kInvalid) << "no direct counter";
  EXPECT_EQ(refusal([&] { entries.meter(0); }), Refusal::kInvalid);
}

TEST_F(P4Control, DefaultActionsAreSetAndReset) {
  const uint32_t index = switch_.table("IngressImpl.exact_one");
  const std::string frame = "0001" + std::string(48, '0');
  const auto result = [&] { return switch_.one(frame).substr(48, 4); };
  switch_.pipeline.control().table(index).set_default_action(set("exact_one", 0xabcd));
  EXPECT_EQ(switch_.pipeline.control().table(index).default_action(), EntryAction(set("exact_one", 0xabcd)));
  EXPECT_EQ(result(), "abcd");
  switch_.pipeline.control().table(index).reset_default_action();
  EXPECT_EQ(result(), "0000");
  EXPECT_EQ(refusal([&] { switch_.pipeline.control().table(index).set_default_action(MemberRef{1}); }),
            Refusal::kInvalid);
}

TEST_F(P4Control, IdleEntriesAreReportedOnce) {
  const uint32_t index = switch_.table("IngressImpl.exact_one");
  const std::string frame = "0005" + std::string(48, '0');
  const auto idle = [&] {
    std::vector<EntryHandle> entries;
    switch_.pipeline.control().each_idle(switch_.now_ns, [&](const IdleEntry& each) {
      EXPECT_EQ(each.table, index);
      entries.push_back(each.entry);
    });
    return entries;
  };
  const EntryHandle entry = switch_.insert("IngressImpl.exact_one", {exactly(5)}, set("exact_one", 1), 0, 1000);
  switch_.insert("IngressImpl.exact_one", {exactly(6)}, set("exact_one", 1));
  switch_.now_ns += 999;
  EXPECT_TRUE(idle().empty());
  EXPECT_EQ(switch_.pipeline.control().table(index).idle_ns(entry, switch_.now_ns), 999u);
  switch_.one(frame);
  switch_.now_ns += 999;
  EXPECT_TRUE(idle().empty()) << "a packet came";
  switch_.now_ns += 1;
  EXPECT_EQ(idle(), std::vector<EntryHandle>{entry});
  EXPECT_TRUE(idle().empty());
  switch_.one(frame);
  switch_.now_ns += 1000;
  EXPECT_EQ(idle(), std::vector<EntryHandle>{entry});
  switch_.pipeline.control().table(index).modify(
      {.key = {exactly(5)}, .action = set("exact_one", 2), .idle_timeout_ns = 500}, switch_.now_ns);
  EXPECT_TRUE(idle().empty());
  switch_.now_ns += 500;
  EXPECT_EQ(idle(), std::vector<EntryHandle>{entry});
}

TEST(P4Routes, CountByEntryAndKeepTheChecksumRight) {
  Switch with(read_program("l3"));
  const EntryHandle route = with.insert("IngressImpl.routes", {prefix(0x0a000000, 8)},
                                        with.call("IngressImpl.routes", "IngressImpl.route", {3}));
  with.insert("IngressImpl.next_hops", {exactly(3)},
              with.call("IngressImpl.next_hops", "IngressImpl.forward", {4, 0x020000000001, 0x020000000002}));
  // Checksum of RFC 1071 over the header, by hand: 0x66ca, and 0x67ca when the TTL is one less.
  const std::string in = "aabbccddeeff112233445566 0800 4500 0020 0001 0000 4011 66ca 0a000001 0a000002 1234";
  const std::string out =
      "020000000002020000000001"
      "0800"
      "4500"
      "0020"
      "0001"
      "0000"
      "3f11"
      "67ca"
      "0a000001"
      "0a000002"
      "1234";
  EXPECT_EQ(with.run(in, 9), (Sent{{4, out}}));
  EXPECT_TRUE(with.run("aabbccddeeff112233445566 0800 4500 0020 0001 0000 4011 66cb 0a000001 0a000002", 9).empty())
      << "a wrong checksum";
  EXPECT_TRUE(with.run("aabbccddeeff112233445566 0800 4500 0020 0001 0000 0111 a5ca 0a000001 0a000002", 9).empty());
  EXPECT_TRUE(with.run("aabbccddeeff112233445566 0806 0001", 9).empty()) << "not IP";
  EXPECT_TRUE(with.run("aabbcc", 9).empty()) << "too short for Ethernet";
  auto control = with.pipeline.control();
  EXPECT_EQ(control.table(with.table("IngressImpl.routes")).counter(route), (CounterValue{1, 36}));
  control.table(with.table("IngressImpl.routes")).set_counter(route, {5, 6});
  EXPECT_EQ(control.table(with.table("IngressImpl.routes")).counter(route), (CounterValue{5, 6}));
  EXPECT_EQ(control.counters(0).read(9).packets, 5u);
  EXPECT_EQ(control.table(with.table("IngressImpl.routes")).hits(), 1u);
  EXPECT_EQ(control.table(with.table("IngressImpl.routes")).misses(), 0u);
}

TEST(P4Routes, TakeChangesWhilePacketsRun) {
  Switch with(read_program("l3"));
  with.insert("IngressImpl.next_hops", {exactly(3)},
              with.call("IngressImpl.next_hops", "IngressImpl.forward", {4, 1, 2}));
  const ActionCall route = with.call("IngressImpl.routes", "IngressImpl.route", {3});
  const uint32_t table = with.table("IngressImpl.routes");
  std::atomic<bool> done = false;
  std::thread control([&] {
    for (int round = 0; round < 20; ++round) {
      auto held = with.pipeline.control();
      for (uint64_t i = 0; i < 100; ++i) {
        const std::vector<KeyMatch> key{prefix(0x0a000000 + (i << 8), 24)};
        if (round % 2 == 0) {
          held.table(table).insert({.key = key, .action = route});
        } else {
          held.table(table).remove(key, 0);
        }
      }
    }
    done = true;
  });
  uint64_t packets = 0;
  while (!done || packets < 100) {
    with.run("aabbccddeeff112233445566 0800 4500 0020 0001 0000 4011 66ca 0a000001 0a000002");
    ++packets;
  }
  control.join();
  EXPECT_EQ(with.pipeline.control().packets_in(), packets);
  EXPECT_EQ(with.pipeline.control().table(table).size(), 0u);
}

}  // namespace
}  // namespace orrery::p4::testing
