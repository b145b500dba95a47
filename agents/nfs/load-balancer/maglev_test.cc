// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/maglev.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace orrery::load_balancer {
namespace {

using Members = std::vector<MaglevMember>;

Members members_of(size_t count, uint32_t most_weight, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Members members;
  for (size_t i = 0; i < count; ++i) members.push_back({rng(), static_cast<uint32_t>(1 + rng() % most_weight)});
  return members;
}

std::map<uint64_t, size_t> shares_of(const MaglevTable& table, const Members& members) {
  std::map<uint64_t, size_t> shares;
  for (const uint8_t owner : table.owners()) ++shares[members.at(owner).identity];
  return shares;
}

// Positions that go from one member that stays to another.
size_t needless_moves(const Members& before, const Members& after) {
  const MaglevTable a(before), b(after);
  const auto stays = [](const Members& members, uint64_t identity) {
    return std::ranges::find(members, identity, &MaglevMember::identity) != members.end();
  };
  size_t count = 0;
  for (size_t i = 0; i < MaglevTable::kSize; ++i) {
    const uint64_t from = before[a.owners()[i]].identity, to = after[b.owners()[i]].identity;
    count += from != to && stays(after, from) && stays(before, to);
  }
  return count;
}

// Pseudocode 1 of the paper, over whole permutations.
std::vector<uint64_t> populate(const Members& members, auto&& offset_of, auto&& skip_of) {
  constexpr uint64_t m = MaglevTable::kSize;
  Members in_order = members;
  std::ranges::sort(in_order, {}, &MaglevMember::identity);
  std::vector<std::vector<uint32_t>> permutation;
  for (const MaglevMember& member : in_order) {
    permutation.emplace_back();
    for (uint64_t j = 0; j < m; ++j)
      permutation.back().push_back(static_cast<uint32_t>((offset_of(member) + j * skip_of(member)) % m));
  }
  std::vector<size_t> next(in_order.size());
  std::vector<uint64_t> entry(m, 0);
  for (uint64_t n = 0;;) {
    for (size_t i = 0; i < in_order.size(); ++i) {
      uint32_t c = permutation[i][next[i]];
      while (entry[c] != 0) c = permutation[i][++next[i]];
      entry[c] = in_order[i].identity;
      ++next[i];
      if (++n == m) return entry;
    }
  }
}

TEST(Maglev, EqualsThePaperWhereWeightsAreEqual) {
  for (const size_t count : {1, 2, 3, 7, 20}) {
    const Members members = members_of(count, 1, count);
    const MaglevTable table(members);
    const auto expected = populate(
        members, [](const auto& m) { return mix(m.identity + 0x9e3779b97f4a7c15u) % MaglevTable::kSize; },
        [](const auto& m) { return mix(m.identity ^ 0x7f4a7c15f39cc060u) % (MaglevTable::kSize - 1) + 1; });
    for (size_t i = 0; i < MaglevTable::kSize; ++i)
      ASSERT_EQ(members[table.owners()[i]].identity, expected[i]) << count << " members, position " << i;
  }
}

TEST(Maglev, SharesAreThoseOfTheWeights) {
  for (const size_t count : {1, 2, 5, 33, 64}) {
    const Members members = members_of(count, 256, count);
    uint64_t sum = 0;
    for (const MaglevMember& m : members) sum += m.weight;
    const auto shares = shares_of(MaglevTable(members), members);
    for (const MaglevMember& m : members) {
      const double wanted = static_cast<double>(MaglevTable::kSize) * m.weight / static_cast<double>(sum);
      EXPECT_NEAR(static_cast<double>(shares.at(m.identity)), wanted, 1 + wanted / 100);
    }
  }
}

TEST(Maglev, TheOrderOfMembersDoesNotMatter) {
  Members members = members_of(20, 8, 1);
  const MaglevTable table(members);
  Members shuffled = members;
  std::ranges::shuffle(shuffled, std::mt19937_64(2));
  const MaglevTable other(shuffled);
  for (size_t i = 0; i < MaglevTable::kSize; ++i)
    ASSERT_EQ(members[table.owners()[i]].identity, shuffled[other.owners()[i]].identity);
}

TEST(Maglev, AMemberThatComesOrGoesMovesLittleElse) {
  for (const size_t count : {3, 10, 50}) {
    const Members before = members_of(count, 1, count + 100);
    Members after = before;
    after.erase(after.begin() + static_cast<ptrdiff_t>(count / 2));
    EXPECT_LT(needless_moves(before, after), MaglevTable::kSize / 100) << count << " members";
    EXPECT_LT(needless_moves(after, before), MaglevTable::kSize / 100);
  }
}

}  // namespace
}  // namespace orrery::load_balancer
