// SPDX-License-Identifier: Apache-2.0
#include "p4/core/value_set.h"

namespace orrery::p4 {

void ValueSet::set(const std::vector<ValueSetMember>& members) {
  if (members.size() > kMaxMembers)
    throw ControlError(Refusal::kFull, "a value set has at most " + std::to_string(kMaxMembers) + " members");
  const uint32_t count = words_of(width_);
  std::vector<uint64_t> words(members.size() * count * 2);
  for (size_t i = 0; i < members.size(); ++i) {
    uint64_t* value = &words[i * count * 2];
    uint64_t* mask = value + count;
    if (!to_words(members[i].value, width_, value) || !to_words(members[i].mask, width_, mask))
      throw ControlError(Refusal::kInvalid,
                         "member " + std::to_string(i) + " has more than " + std::to_string(width_) + " bits");
    for (uint32_t word = 0; word < count; ++word) {
      if (members[i].mask.empty()) mask[word] = ~uint64_t{0};
      value[word] &= mask[word];
    }
  }
  members_ = members;
  words_ = std::move(words);
}

bool ValueSet::has(const uint64_t* key, const uint64_t* mask) const {
  const uint32_t count = words_of(width_);
  for (size_t at = 0; at < words_.size(); at += size_t{count} * 2) {
    bool same = true;
    for (uint32_t word = 0; word < count; ++word)
      same = same && ((key[word] ^ words_[at + word]) & words_[at + count + word] & mask[word]) == 0;
    if (same) return true;
  }
  return false;
}

}  // namespace orrery::p4
