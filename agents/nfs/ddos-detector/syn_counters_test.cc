// SPDX-License-Identifier: Apache-2.0
#include "nfs/ddos-detector/syn_counters.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "support/testing/frames.h"

namespace orrery::ddos_detector {
namespace {

using testing::Rng;
__extension__ using Wide = __int128;

constexpr auto kIgnore = [](auto...) {};

TEST(Crc32c, HasTheCheckValueOfTheStandard) {
  const char* digits = "123456789";
  EXPECT_EQ(crc32c({reinterpret_cast<const uint8_t*>(digits), std::strlen(digits)}), 0xe3069283u);
  const std::array<uint8_t, 4> bytes{10, 0, 0, 2};
  EXPECT_EQ(crc32c(0x0a000002u), crc32c(bytes));
}

// Addresses that share no counter.
std::vector<uint32_t> separate_addresses(size_t count) {
  std::vector<uint32_t> out;
  std::set<size_t> taken;
  for (uint32_t address = 0x0a000001; out.size() < count; ++address)
    if (taken.insert(SynCounters::index_of(address)).second) out.push_back(address);
  return out;
}

void raise(SynCounters& counters, uint32_t address, uint32_t times) {
  for (uint32_t n = 0; n < times; ++n) counters.raise(address);
}

// n*c > S and (n*c - S)^2 * 16 > k^2 * (n*Q - S*S), in numbers that cannot overflow.
bool stands_out(const std::vector<uint32_t>& counts, uint32_t c, uint32_t minimum, uint32_t k) {
  Wide n = 0, s = 0, q = 0;
  for (uint32_t count : counts) {
    n += count != 0;
    s += count;
    q += static_cast<Wide>(count) * count;
  }
  if (c == 0 || c < minimum) return false;
  if (n == 1) return true;
  return n * c > s && (n * c - s) * (n * c - s) * 16 > static_cast<Wide>(k) * k * (n * q - s * s);
}

TEST(SynCounters, FlagsWhatTheFormulaSays) {
  Rng rng(1);
  uint64_t flagged_count = 0;
  for (int round = 0; round < 60; ++round) {
    const auto addresses = separate_addresses(1 + rng() % (round < 5 ? 1024 : 60));
    const uint32_t high = round % 3 == 0 ? 70000 : 400;
    std::vector<uint32_t> counts;
    SynCounters counters;
    for (uint32_t address : addresses) {
      const auto count = static_cast<uint32_t>(rng() % 8 == 0 ? rng() % high : rng() % 20);
      raise(counters, address, count);
      counts.push_back(std::min(count, 65535u));
    }
    const auto minimum = static_cast<uint32_t>(1 + rng() % 40);
    const auto k = static_cast<uint32_t>(1 + rng() % 64);
    std::set<uint32_t> reported;
    counters.close_window({minimum, k}, [&](uint32_t address, bool flagged, uint16_t, uint32_t) {
      EXPECT_TRUE(flagged);
      reported.insert(address);
    });
    flagged_count += reported.size();
    for (size_t i = 0; i < addresses.size(); ++i) {
      ASSERT_EQ(counters.is_flagged(addresses[i]), stands_out(counts, counts[i], minimum, k)) << round << " " << i;
      ASSERT_EQ(reported.contains(addresses[i]), counters.is_flagged(addresses[i]));
      ASSERT_EQ(counters.all()[SynCounters::index_of(addresses[i])].count, counts[i] / 2);
    }
  }
  EXPECT_GT(flagged_count, 30u);
}

TEST(SynCounters, DoesNotOverflowAtTheExtremes) {
  // Half of all counters full is where n*Q - S*S is largest; one full one among ones is where n*c - S is.
  for (size_t full : {1, 2, 512, 1023}) {
    const auto addresses = separate_addresses(1024);
    std::vector<uint32_t> counts(1024, 1);
    SynCounters counters;
    for (size_t i = 0; i < addresses.size(); ++i) raise(counters, addresses[i], counts[i] = i < full ? 65535 : 1);
    counters.close_window({1, 64}, kIgnore);
    for (size_t i : {size_t{0}, full})
      EXPECT_EQ(counters.is_flagged(addresses[i]), stands_out(counts, counts[i], 1, 64)) << full;
  }
}

TEST(SynCounters, TheMinimumAloneDecidesForALoneDestination) {
  SynCounters counters;
  raise(counters, 1, 32);
  counters.close_window({32, 64}, kIgnore);
  EXPECT_TRUE(counters.is_flagged(1));
  counters.close_window({32, 64}, kIgnore);
  EXPECT_FALSE(counters.is_flagged(1)) << "16 are left";
}

TEST(SynCounters, SaturateAtBothEnds) {
  SynCounters counters;
  counters.lower(1);
  EXPECT_EQ(counters.all()[SynCounters::index_of(1)].count, 0);
  raise(counters, 1, 65540);
  EXPECT_EQ(counters.all()[SynCounters::index_of(1)].count, 65535);
}

TEST(SynCounters, ForgetEverythingInTime) {
  SynCounters counters;
  raise(counters, 1, 65535);
  for (uint32_t n = 0; n + 1 < SynCounters::kWindowsToForget; ++n) counters.close_window({1, 1}, kIgnore);
  EXPECT_TRUE(counters.is_flagged(1));
  counters.close_window({1, 1}, kIgnore);
  EXPECT_FALSE(counters.is_flagged(1));
  EXPECT_EQ(counters.all()[SynCounters::index_of(1)].count, 0);
}

TEST(SynCounters, FlagTheDestinationThatRaisedASharedCounterLast) {
  std::map<size_t, uint32_t> seen;
  uint32_t a = 0, b = 0;
  for (uint32_t address = 1; b == 0; ++address) {
    const auto [it, fresh] = seen.emplace(SynCounters::index_of(address), address);
    if (!fresh) {
      a = it->second;
      b = address;
    }
  }
  SynCounters counters;
  raise(counters, a, 50);
  raise(counters, b, 50);
  std::vector<std::pair<uint32_t, bool>> changes;
  const auto note = [&](uint32_t address, bool flagged, uint16_t, uint32_t) { changes.emplace_back(address, flagged); };
  counters.close_window({32, 12}, note);
  EXPECT_TRUE(counters.is_flagged(b));
  EXPECT_FALSE(counters.is_flagged(a));
  raise(counters, a, 1);
  EXPECT_TRUE(counters.is_flagged(b)) << "until the window ends";
  counters.close_window({32, 12}, note);
  EXPECT_TRUE(counters.is_flagged(a));
  EXPECT_EQ(changes, (std::vector<std::pair<uint32_t, bool>>{{b, true}, {b, false}, {a, true}}));
}

}  // namespace
}  // namespace orrery::ddos_detector
