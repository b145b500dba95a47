// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery::load_balancer {

inline constexpr size_t kMaxBackends = 64;

// Finalizer of splitmix64. Unlike a flow table's hash it is the same everywhere, so that all instances choose alike.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// What a table is made of: a number that stands for the back end whatever the others are, and its share.
struct MaglevMember {
  uint64_t identity;
  uint32_t weight;  // from 1 on
};

// Maglev's look-up table (Eisenbud et al., NSDI 2016, 3.4), where back ends take turns in proportion to their weights.
// It is the same for the same members in any order. When a member comes or goes, few positions change beside those that
// it gets or leaves.
class MaglevTable {
 public:
  // A prime, a thousand times the largest number of back ends: shares deviate from the weights by less than 1 %.
  static constexpr uint32_t kSize = 65537;

  // At most kMaxBackends, whose identities differ. Without any, at() must not be called.
  explicit MaglevTable(std::span<const MaglevMember> members);

  // Index of the member that has a position.
  uint8_t at(uint64_t hash) const { return owner_[hash % kSize]; }
  std::span<const uint8_t> owners() const { return owner_; }

 private:
  std::vector<uint8_t> owner_;
};

}  // namespace orrery::load_balancer
