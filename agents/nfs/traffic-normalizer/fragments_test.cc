// SPDX-License-Identifier: Apache-2.0
#include "nfs/traffic-normalizer/fragments.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <vector>

namespace orrery::traffic_normalizer {
namespace {

// Each byte by itself, and each fragment.
class Reference {
 public:
  PartVerdict take(uint32_t offset, uint32_t length, bool more) {
    const uint32_t end = offset + length;
    if (length == 0 || (more && length % 8 != 0)) return PartVerdict::kConflict;
    for (const auto& [first, part] : parts_) {
      if (first != offset || part.first != length || part.second != more) continue;
      return PartVerdict::kDuplicate;
    }
    for (const auto& [first, part] : parts_) {
      const uint32_t other_end = first + part.first;
      if (offset < other_end && first < end) return PartVerdict::kConflict;
      if (!more && other_end > end) return PartVerdict::kConflict;
      if (!part.second && (end > other_end || !more)) return PartVerdict::kConflict;
    }
    parts_[offset] = {length, more};
    uint32_t at = 0;
    for (const auto& [first, part] : parts_) {
      if (first != at) return PartVerdict::kNew;
      at += part.first;
      if (!part.second) return PartVerdict::kComplete;
    }
    return PartVerdict::kNew;
  }

 private:
  std::map<uint32_t, std::pair<uint32_t, bool>> parts_;  // by offset: length, more
};

FragmentPart part(uint32_t offset, uint32_t length, bool more) {
  return {offset / 8, (offset + length + 7) / 8, offset + length, more};
}

TEST(Datagram, JudgesFragmentsAsByteByByte) {
  std::mt19937_64 rng(1);
  std::map<PartVerdict, int> seen;
  for (int round = 0; round < 20'000; ++round) {
    Datagram datagram;
    Reference reference;
    // Cut at random, in any order, with copies and with others in between.
    const uint32_t bytes = 1 + static_cast<uint32_t>(rng() % (round % 10 == 0 ? 65'000 : 600));
    std::vector<std::tuple<uint32_t, uint32_t, bool>> parts;
    for (uint32_t at = 0; at < bytes;) {
      const uint32_t length = 8 * (1 + static_cast<uint32_t>(rng() % (bytes / 24 + 1)));
      const bool last = at + length >= bytes;
      parts.emplace_back(at, last ? bytes - at : length, !last);
      at += length;
    }
    if (rng() % 3 == 0) parts.push_back(parts[rng() % parts.size()]);
    if (rng() % 3 == 0) {
      const uint32_t at = 8 * static_cast<uint32_t>(rng() % (bytes / 8 + 2));
      parts.emplace_back(at, static_cast<uint32_t>(rng() % 64), rng() % 2 == 0);
    }
    std::ranges::shuffle(parts, rng);
    for (const auto& [offset, length, more] : parts) {
      const PartVerdict expected = reference.take(offset, length, more);
      const PartVerdict verdict = datagram.take(part(offset, length, more));
      ++seen[expected];
      ASSERT_EQ(verdict, expected) << "round " << round << ": " << offset << " + " << length << (more ? " more" : "");
      if (verdict == PartVerdict::kComplete) break;
    }
  }
  for (const PartVerdict verdict :
       {PartVerdict::kNew, PartVerdict::kComplete, PartVerdict::kDuplicate, PartVerdict::kConflict})
    EXPECT_GT(seen[verdict], 1000);
}

TEST(Datagram, TakesTheLongestDatagram) {
  Datagram datagram;
  EXPECT_EQ(datagram.take(part(65'528, 7, false)), PartVerdict::kNew);
  EXPECT_EQ(datagram.take(part(65'528, 7, false)), PartVerdict::kDuplicate);
  EXPECT_EQ(datagram.take(part(65'520, 15, false)), PartVerdict::kConflict);
  EXPECT_EQ(datagram.take(part(0, 65'528, true)), PartVerdict::kComplete);
}

}  // namespace
}  // namespace orrery::traffic_normalizer
