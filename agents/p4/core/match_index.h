// SPDX-License-Identifier: Apache-2.0
// Which entry a key matches: for each mask that entries have, a hash table of the keys under it (tuple space search,
// Srinivasan et al. 1999). Exact tables have one mask, tables by prefix one for each length.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace orrery::p4 {

inline constexpr uint32_t kNoEntry = UINT32_MAX;

// Open addressing; keys of a fixed number of words.
class KeyMap {
 public:
  explicit KeyMap(uint32_t key_words);

  // Value of the key, or kNoEntry.
  template <uint32_t kWords>
  uint32_t find(const uint64_t* key) const {
    const uint32_t words = kWords == 0 ? key_words_ : kWords;
    for (size_t at = hash(key, words) & mask_;; at = (at + 1) & mask_) {
      if (values_[at] == kNoEntry) return kNoEntry;
      const uint64_t* other = &keys_[at * words];
      bool same = true;
      for (uint32_t i = 0; i < words; ++i) same &= key[i] == other[i];
      if (same) return values_[at];
    }
  }
  void set(const uint64_t* key, uint32_t value);
  void erase(const uint64_t* key);
  size_t size() const { return size_; }

 private:
  static uint64_t hash(const uint64_t* key, uint32_t words) {
    uint64_t h = 0x9e3779b97f4a7c15;
    for (uint32_t i = 0; i < words; ++i) {
      h = (h ^ key[i]) * 0xd6e8feb86659fd93;
      h ^= h >> 32;
    }
    return h;
  }
  size_t place(const uint64_t* key) const;
  void grow();

  uint32_t key_words_;
  size_t mask_;
  size_t size_ = 0;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> values_;
};

class MatchIndex {
 public:
  // What the index needs to know of an entry; entries are numbers from 0.
  struct Item {
    std::vector<uint64_t> mask;
    std::vector<uint64_t> key;   // under the mask
    std::vector<uint64_t> lows;  // of range fields, words_of() each, one behind the other
    std::vector<uint64_t> highs;
    int64_t rank = 0;  // the larger wins, of equal ones the one that was there first
  };
  struct RangeField {
    uint32_t from;  // word of the frame
    uint32_t words;
  };

  MatchIndex(uint32_t key_words, std::vector<RangeField> ranges);

  void insert(uint32_t entry, const Item& item);
  void remove(uint32_t entry);
  // The entry with the same mask, key, ranges and rank.
  uint32_t find_same(const Item& item) const;
  void clear();
  Item item(uint32_t entry) const;

  // Of a packet: the best entry or kNoEntry. The key has all its words even where there is none; `frame` has the fields
  // of ranges.
  uint32_t lookup(const uint64_t* key, const uint64_t* frame) const;

 private:
  struct Group {
    std::vector<uint64_t> mask;
    KeyMap heads;  // first of the entries with the key, by rank
    std::map<int64_t, uint32_t> ranks;
    int64_t best = 0;
  };
  struct Node {
    Group* group = nullptr;
    uint32_t next = kNoEntry;
    int64_t rank = 0;
    uint64_t order = 0;
  };

  template <uint32_t kWords>
  uint32_t lookup_in(const uint64_t* key, const uint64_t* frame) const;
  bool in_ranges(uint32_t entry, const uint64_t* frame) const;
  bool before(uint32_t a, uint32_t b) const;
  uint32_t head(const Group& group, const uint64_t* key) const;
  void place(Group& group);

  uint32_t key_words_;
  std::vector<RangeField> ranges_;
  uint32_t range_words_ = 0;
  std::map<std::vector<uint64_t>, std::unique_ptr<Group>> by_mask_;
  std::vector<Group*> groups_;  // the best first
  std::vector<Node> nodes_;     // by entry
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> bounds_;  // lows, then highs, of each entry
  uint64_t next_order_ = 0;
};

}  // namespace orrery::p4
