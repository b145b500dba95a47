// SPDX-License-Identifier: Apache-2.0
#include "p4/core/match_index.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

namespace orrery::p4 {

namespace {

constexpr size_t kFirstPlaces = 8;
constexpr uint32_t kMaxIndexWords = 64;

}  // namespace

KeyMap::KeyMap(uint32_t key_words)
    : key_words_(key_words),
      mask_(kFirstPlaces - 1),
      keys_(kFirstPlaces * key_words),
      values_(kFirstPlaces, kNoEntry) {}

size_t KeyMap::place(const uint64_t* key) const {
  size_t at = hash(key, key_words_) & mask_;
  while (values_[at] != kNoEntry && !std::equal(key, key + key_words_, &keys_[at * key_words_])) at = (at + 1) & mask_;
  return at;
}

void KeyMap::grow() {
  const std::vector<uint64_t> keys = std::move(keys_);
  const std::vector<uint32_t> values = std::move(values_);
  mask_ = mask_ * 2 + 1;
  keys_.assign((mask_ + 1) * key_words_, 0);
  values_.assign(mask_ + 1, kNoEntry);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kNoEntry) continue;
    const size_t at = place(keys.data() + i * key_words_);
    std::copy_n(keys.data() + i * key_words_, key_words_, keys_.data() + at * key_words_);
    values_[at] = values[i];
  }
}

void KeyMap::set(const uint64_t* key, uint32_t value) {
  if ((size_ + 1) * 4 > (mask_ + 1) * 3) grow();
  const size_t at = place(key);
  if (values_[at] == kNoEntry) ++size_;
  std::copy_n(key, key_words_, keys_.data() + at * key_words_);
  values_[at] = value;
}

void KeyMap::erase(const uint64_t* key) {
  size_t hole = place(key);
  if (values_[hole] == kNoEntry) return;
  --size_;
  values_[hole] = kNoEntry;
  for (size_t at = (hole + 1) & mask_; values_[at] != kNoEntry; at = (at + 1) & mask_) {
    const size_t wanted = hash(keys_.data() + at * key_words_, key_words_) & mask_;
    if (((at - wanted) & mask_) < ((at - hole) & mask_)) continue;
    std::copy_n(keys_.data() + at * key_words_, key_words_, keys_.data() + hole * key_words_);
    values_[hole] = values_[at];
    values_[at] = kNoEntry;
    hole = at;
  }
}

MatchIndex::MatchIndex(uint32_t key_words, std::vector<RangeField> ranges)
    : key_words_(key_words), ranges_(std::move(ranges)) {
  for (const RangeField& range : ranges_) range_words_ += range.words;
}

bool MatchIndex::before(uint32_t a, uint32_t b) const {
  return nodes_[a].rank != nodes_[b].rank ? nodes_[a].rank > nodes_[b].rank : nodes_[a].order < nodes_[b].order;
}

uint32_t MatchIndex::head(const Group& group, const uint64_t* key) const {
  return group.heads.find<0>(key);
}

void MatchIndex::place(Group& group) {
  group.best = group.ranks.rbegin()->first;
  const auto old = std::ranges::find(groups_, &group);
  if (old != groups_.end()) groups_.erase(old);
  const auto at =
      std::ranges::upper_bound(groups_, group.best, std::greater<>{}, [](const Group* each) { return each->best; });
  groups_.insert(at, &group);
}

void MatchIndex::insert(uint32_t entry, const Item& item) {
  std::unique_ptr<Group>& slot = by_mask_[item.mask];
  if (!slot) slot = std::make_unique<Group>(Group{item.mask, KeyMap(key_words_), {}, 0});
  Group& group = *slot;
  if (nodes_.size() <= entry) {
    nodes_.resize(entry + 1);
    keys_.resize(nodes_.size() * key_words_);
    bounds_.resize(nodes_.size() * range_words_ * 2);
  }
  nodes_[entry] = {&group, kNoEntry, item.rank, next_order_++};
  std::ranges::copy(item.key, keys_.begin() + std::ptrdiff_t{entry} * key_words_);
  const auto bounds = bounds_.begin() + std::ptrdiff_t{entry} * range_words_ * 2;
  std::ranges::copy(item.lows, bounds);
  std::ranges::copy(item.highs, bounds + range_words_);

  const uint32_t first = head(group, item.key.data());
  if (first == kNoEntry || before(entry, first)) {
    nodes_[entry].next = first;
    group.heads.set(item.key.data(), entry);
  } else {
    uint32_t at = first;
    while (nodes_[at].next != kNoEntry && before(nodes_[at].next, entry)) at = nodes_[at].next;
    nodes_[entry].next = nodes_[at].next;
    nodes_[at].next = entry;
  }
  group.ranks[item.rank] += 1;
  if (group.ranks.size() == 1 || item.rank > group.best) place(group);
}

void MatchIndex::remove(uint32_t entry) {
  Group& group = *nodes_[entry].group;
  const uint64_t* key = keys_.data() + size_t{entry} * key_words_;
  const uint32_t first = head(group, key);
  if (first != entry) {
    uint32_t at = first;
    while (nodes_[at].next != entry) at = nodes_[at].next;
    nodes_[at].next = nodes_[entry].next;
  } else if (nodes_[entry].next == kNoEntry) {
    group.heads.erase(key);
  } else {
    group.heads.set(key, nodes_[entry].next);
  }
  const auto rank = group.ranks.find(nodes_[entry].rank);
  nodes_[entry] = {};
  if (--rank->second != 0) return;
  group.ranks.erase(rank);
  if (!group.ranks.empty()) {
    if (group.ranks.rbegin()->first != group.best) place(group);
    return;
  }
  std::erase(groups_, &group);
  by_mask_.erase(std::vector<uint64_t>(group.mask));
}

void MatchIndex::clear() {
  groups_.clear();
  by_mask_.clear();
  nodes_.clear();
  keys_.clear();
  bounds_.clear();
}

uint32_t MatchIndex::find_same(const Item& item) const {
  const auto group = by_mask_.find(item.mask);
  if (group == by_mask_.end()) return kNoEntry;
  for (uint32_t at = head(*group->second, item.key.data()); at != kNoEntry; at = nodes_[at].next) {
    const auto bounds = bounds_.begin() + std::ptrdiff_t{at} * range_words_ * 2;
    if (nodes_[at].rank == item.rank && std::ranges::equal(item.lows, std::span(bounds, range_words_)) &&
        std::ranges::equal(item.highs, std::span(bounds + range_words_, range_words_)))
      return at;
  }
  return kNoEntry;
}

MatchIndex::Item MatchIndex::item(uint32_t entry) const {
  const auto bounds = bounds_.begin() + std::ptrdiff_t{entry} * range_words_ * 2;
  const auto key = keys_.begin() + std::ptrdiff_t{entry} * key_words_;
  return {nodes_[entry].group->mask,
          {key, key + key_words_},
          {bounds, bounds + range_words_},
          {bounds + range_words_, bounds + std::ptrdiff_t{range_words_} * 2},
          nodes_[entry].rank};
}

bool MatchIndex::in_ranges(uint32_t entry, const uint64_t* frame) const {
  const uint64_t* low = bounds_.data() + size_t{entry} * range_words_ * 2;
  const uint64_t* high = low + range_words_;
  const auto less = [](const uint64_t* a, const uint64_t* b, uint32_t words) {
    for (uint32_t i = words; i > 0; --i)
      if (a[i - 1] != b[i - 1]) return a[i - 1] < b[i - 1];
    return false;
  };
  for (const RangeField& range : ranges_) {
    const uint64_t* value = frame + range.from;
    if (less(value, low, range.words) || less(high, value, range.words)) return false;
    low += range.words;
    high += range.words;
  }
  return true;
}

template <uint32_t kWords>
uint32_t MatchIndex::lookup_in(const uint64_t* key, const uint64_t* frame) const {
  const uint32_t words = kWords == 0 ? key_words_ : kWords;
  std::array<uint64_t, kWords == 0 ? kMaxIndexWords : kWords> masked;
  uint32_t best = kNoEntry;
  for (const Group* group : groups_) {
    if (best != kNoEntry && nodes_[best].rank > group->best) break;
    for (uint32_t i = 0; i < words; ++i) masked[i] = key[i] & group->mask[i];
    for (uint32_t at = group->heads.find<kWords>(masked.data()); at != kNoEntry; at = nodes_[at].next) {
      if (!ranges_.empty() && !in_ranges(at, frame)) continue;
      if (best == kNoEntry || before(at, best)) best = at;
      break;
    }
  }
  return best;
}

uint32_t MatchIndex::lookup(const uint64_t* key, const uint64_t* frame) const {
  switch (key_words_) {
    case 1:
      return lookup_in<1>(key, frame);
    case 2:
      return lookup_in<2>(key, frame);
    default:
      return lookup_in<0>(key, frame);
  }
}

}  // namespace orrery::p4
