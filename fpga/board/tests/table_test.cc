// SPDX-License-Identifier: Apache-2.0
// Tables of real modules that change while they are read.
#include "board/device/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace orrery::board {
namespace {

using Key = std::array<uint32_t, 4>;

constexpr uint16_t kControl = 0x008, kStatus = 0x00c;
constexpr uint32_t kEnable = 1, kClearing = 2;
constexpr uint32_t kDelete = 3u << 28;

class TableTest : public ::testing::Test {
 protected:
  void load(const std::string& name) {
    device_.insert(0, *library_.find(name));
    while ((device_.read(0, kStatus).value_or(0) & kClearing) != 0) continue;
    device_.write(0, kControl, kEnable);
    device_.resume(0);
  }

  void remove(const TableEntry& entry) {
    for (size_t word = 0; word < entry.size(); ++word)
      device_.write(0, static_cast<uint16_t>(reg::kTableData + 4 * word), entry[word]);
    device_.write(0, reg::kTableCommand, kDelete);
    device_.simulation().run(1000);
  }

  TableExport begin() { return {0, table_places(*device_.slot(0).module), kTableEntries}; }

  std::vector<TableEntry> read_all() {
    TableExport walk = begin();
    while (walk.step(device_, 64).value()) continue;
    return walk.entries();
  }

  Library library_{LIBRARY};
  Device device_{1, 100, [](size_t) {}};
};

Key key_of(const TableEntry& entry) {
  return {entry[0], entry[1], entry[2], entry[3]};
}

std::vector<TableEntry> flows(size_t count) {
  std::mt19937 rng(5);
  std::vector<TableEntry> out(count);
  for (TableEntry& flow : out) flow = {uint32_t(rng()), uint32_t(rng()), uint32_t(rng()), 6, 0, 0, 0, 0};
  return out;
}

// A TCP SYN to 10.1.x.y.
void put_syn(FrameRing& ring, uint32_t to) {
  constexpr uint8_t kHeader[54] = {0x02, 0x0e, 0, 1, 0,  0, 2, 0, 0,  0, 0,    1, 8,  0, 0x45, 0, 0, 40,
                                   0,    0,    0, 0, 64, 6, 0, 0, 10, 0, 0,    0, 10, 1, 0,    0, 4, 0,
                                   0,    80,   0, 0, 0,  0, 0, 0, 0,  0, 0x50, 2, 1,  0, 0,    0, 0, 0};
  Frame& frame = ring.back();
  frame.length = 60;
  std::fill_n(frame.bytes.begin(), frame.length, uint8_t{0});
  std::ranges::copy(kHeader, frame.bytes.begin());
  frame.bytes[32] = static_cast<uint8_t>(to >> 8);
  frame.bytes[33] = static_cast<uint8_t>(to);
  ring.push();
}

TEST_F(TableTest, AnEntryThatStaysIsReadWhateverGoesMeanwhile) {
  load("nf_elephant_detector");
  const auto put = flows(400);
  ASSERT_EQ(import_table(device_, 0, put)->refused, 0u);
  std::set<Key> stay;
  for (const TableEntry& flow : put) stay.insert(key_of(flow));

  TableExport walk = begin();
  size_t gone = 0;
  while (walk.step(device_, 64).value())
    for (; gone < walk.entries().size() && gone < 300; ++gone) {
      remove(walk.entries()[gone]);
      stay.erase(key_of(walk.entries()[gone]));
    }
  std::set<Key> found;
  for (const TableEntry& entry : walk.entries()) found.insert(key_of(entry));
  EXPECT_TRUE(std::ranges::includes(found, stay));
  EXPECT_EQ(stay.size(), 100u);
  EXPECT_EQ(read_all().size(), 100u) << "they were deleted";
}

TEST_F(TableTest, CountersOfAWindowThatHasNotEndedAreReadOnce) {
  load("nf_ddos_detector");
  constexpr size_t kDestinations = 50;
  for (uint32_t n = 0; n < kDestinations; ++n) put_syn(device_.simulation().queue(0, kNear).in, n);
  EXPECT_TRUE(device_.simulation().run(1'000'000));
  const auto entries = read_all();
  std::set<uint32_t> destinations;
  for (const TableEntry& entry : entries) destinations.insert(entry[0]);
  EXPECT_GT(destinations.size(), kDestinations / 2) << "few share a counter";
  EXPECT_EQ(entries.size(), destinations.size());
}

TEST_F(TableTest, AModuleWithoutOneHasNoEntries) {
  load("nf_pass");
  EXPECT_TRUE(read_all().empty());
  const auto put = import_table(device_, 0, flows(5));
  EXPECT_EQ(put->imported, 0u);
  EXPECT_EQ(put->refused, 0u);
}

}  // namespace
}  // namespace orrery::board
