// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/maglev.h"

#include <algorithm>

namespace orrery::load_balancer {
namespace {

constexpr uint8_t kNobody = UINT8_MAX;
static_assert(kMaxBackends < kNobody);

// The order in which a member asks for positions.
struct Preferences {
  uint64_t identity;
  uint32_t weight;
  uint8_t index;
  uint32_t next;
  uint32_t skip;

  Preferences(const MaglevMember& member, size_t at)
      : identity(member.identity),
        weight(member.weight),
        index(static_cast<uint8_t>(at)),
        next(static_cast<uint32_t>(mix(identity + 0x9e3779b97f4a7c15u) % MaglevTable::kSize)),
        skip(static_cast<uint32_t>(mix(identity ^ 0x7f4a7c15f39cc060u) % (MaglevTable::kSize - 1) + 1)) {}

  void take_one(std::vector<uint8_t>& owner) {
    while (owner[next] != kNobody) next = (next + skip) % MaglevTable::kSize;
    owner[next] = index;
  }
};

}  // namespace

MaglevTable::MaglevTable(std::span<const MaglevMember> members) {
  if (members.empty()) return;
  owner_.assign(kSize, kNobody);
  std::vector<Preferences> all;
  all.reserve(members.size());
  for (size_t i = 0; i < members.size(); ++i) all.emplace_back(members[i], i);
  std::ranges::sort(all, {}, &Preferences::identity);
  const uint64_t heaviest = std::ranges::max_element(all, {}, &Preferences::weight)->weight;
  for (uint64_t round = 0, left = kSize; left > 0; ++round) {
    for (Preferences& member : all) {
      const bool has_turn = (round + 1) * member.weight / heaviest > round * member.weight / heaviest;
      if (!has_turn || left == 0) continue;
      member.take_one(owner_);
      --left;
    }
  }
}

}  // namespace orrery::load_balancer
