// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "p4/core/bytes.h"
#include "p4/core/control_error.h"

namespace orrery::p4 {

// Over the whole width of the set: fields one behind the other, without padding.
struct ValueSetMember {
  ByteString value;
  ByteString mask = {};  // empty: exact

  bool operator==(const ValueSetMember&) const = default;
};

// Parser value set. The control side's calls: under Pipeline::control().
class ValueSet {
 public:
  static constexpr size_t kMaxMembers = 4096;

  explicit ValueSet(uint32_t width_bits) : width_(width_bits) {}

  uint32_t width_bits() const { return width_; }
  // All members at once, as P4Runtime sets them.
  void set(const std::vector<ValueSetMember>& members);
  const std::vector<ValueSetMember>& members() const { return members_; }

  // Of a packet: whether a member matches in the bits of `mask`. Both have words_of(width) words.
  bool has(const uint64_t* key, const uint64_t* mask) const;

 private:
  uint32_t width_;
  std::vector<ValueSetMember> members_;
  std::vector<uint64_t> words_;  // value and mask of each
};

}  // namespace orrery::p4
