// SPDX-License-Identifier: Apache-2.0
#include "support/state/cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace orrery::state {
namespace {

uint64_t random_seed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

uint64_t folded_product(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

Cache::Cache(uint32_t max_entries, size_t max_bytes)
    : memory_(max_entries == 0 ? 0 : max_bytes),
      slots_(max_entries),
      buckets_(std::bit_ceil(std::max(2 * max_entries, uint32_t{2})), kNone),
      owners_(memory_.units(), kNone),
      seed_(random_seed()) {
  free_slots_.reserve(max_entries);
  for (uint32_t id = max_entries; id > 0; --id) free_slots_.push_back(id - 1);
}

// Seeded at random, so that nobody can send keys that collide.
uint32_t Cache::hash(Bytes key) const {
  constexpr uint64_t kFactor = 0x9e37'79b9'7f4a'7c15;
  uint64_t sum = seed_ ^ (key.size() * kFactor);
  while (!key.empty()) {
    uint64_t word = 0;
    const size_t taken = std::min<size_t>(key.size(), sizeof(word));
    std::memcpy(&word, key.data(), taken);
    sum = folded_product(sum ^ word, kFactor);
    key = key.subspan(taken);
  }
  sum = folded_product(sum ^ seed_, kFactor);
  return static_cast<uint32_t>(sum ^ sum >> 32);
}

uint32_t Cache::lookup(Bytes key, uint32_t hash) const {
  for (uint32_t id = buckets_[hash & (buckets_.size() - 1)]; id != kNone; id = slots_[id].next_in_bucket) {
    const Entry& entry = slots_[id];
    if (entry.hash == hash && entry.key_bytes == key.size() &&
        std::memcmp(memory_.at(entry.block), key.data(), key.size()) == 0)
      return id;
  }
  return kNone;
}

std::optional<Cache::Found> Cache::find(const StoreKey& key) {
  if (key.size() > joined_.size() || live_entries_ == 0) return std::nullopt;
  std::ranges::copy(as_bytes(key.prefix), joined_.begin());
  std::ranges::copy(key.rest, joined_.begin() + static_cast<ptrdiff_t>(key.prefix.size()));
  const Bytes joined(joined_.data(), key.size());
  const uint32_t id = lookup(joined, hash(joined));
  if (id == kNone || !live(slots_[id])) return std::nullopt;
  if (id != youngest_) {
    unlink(id);
    link_youngest(id);
  }
  const Entry& entry = slots_[id];
  return Found{{memory_.at(entry.block) + entry.key_bytes, entry.value_bytes}, entry.connection};
}

void Cache::link_youngest(uint32_t id) {
  slots_[id].younger = kNone;
  slots_[id].older = youngest_;
  if (youngest_ != kNone) slots_[youngest_].younger = id;
  youngest_ = id;
  if (oldest_ == kNone) oldest_ = id;
}

void Cache::unlink(uint32_t id) {
  const Entry& entry = slots_[id];
  (entry.younger == kNone ? youngest_ : slots_[entry.younger].older) = entry.older;
  (entry.older == kNone ? oldest_ : slots_[entry.older].younger) = entry.younger;
}

void Cache::count(const Entry& entry, bool in) {
  const size_t bytes = size_t{BlockMemory::units_of(entry.order)} * BlockMemory::kUnitBytes;
  Source& source = sources_[entry.connection];
  if (in) {
    ++source.entries;
    source.bytes += bytes;
    ++live_entries_;
    live_bytes_ += bytes;
  } else {
    --source.entries;
    source.bytes -= bytes;
    --live_entries_;
    live_bytes_ -= bytes;
  }
}

void Cache::remove(uint32_t id) {
  const Entry& entry = slots_[id];
  uint32_t* at = &buckets_[entry.hash & (buckets_.size() - 1)];
  while (*at != id) at = &slots_[*at].next_in_bucket;
  *at = entry.next_in_bucket;
  if (live(entry)) count(entry, false);
  owners_[entry.block] = kNone;
  memory_.give_back(entry.block, entry.order);
  unlink(id);
  free_slots_.push_back(id);
}

void Cache::evict(uint32_t id) {
  if (live(slots_[id])) ++evictions_;
  remove(id);
}

void Cache::evict_in(uint32_t first, uint32_t units) {
  for (uint32_t unit = first; unit < first + units; ++unit)
    if (owners_[unit] != kNone) evict(owners_[unit]);
}

uint32_t Cache::take_block(uint8_t order) {
  uint32_t block = memory_.take(order);
  while (block == kNone) {
    const uint32_t near = slots_[oldest_].block;
    evict(oldest_);
    block = memory_.take(order);
    if (block != kNone) break;
    // What joins to a block of this order around the one that was evicted.
    evict_in(near & ~(BlockMemory::units_of(order) - 1), BlockMemory::units_of(order));
    block = memory_.take(order);
  }
  return block;
}

void Cache::insert(Bytes key, Bytes value, uint8_t connection) {
  erase(key);
  if (slots_.empty()) return;
  if (free_slots_.empty()) evict(oldest_);
  const uint8_t order = BlockMemory::order_of(key.size() + value.size());
  const uint32_t block = take_block(order);
  std::ranges::copy(key, memory_.at(block));
  std::ranges::copy(value, memory_.at(block) + key.size());
  const uint32_t id = free_slots_.back();
  free_slots_.pop_back();
  const uint32_t key_hash = hash(key);
  uint32_t& bucket = buckets_[key_hash & (buckets_.size() - 1)];
  slots_[id] = {.block = block,
                .hash = key_hash,
                .next_in_bucket = bucket,
                .younger = kNone,
                .older = kNone,
                .generation = sources_[connection].generation,
                .key_bytes = static_cast<uint16_t>(key.size()),
                .value_bytes = static_cast<uint16_t>(value.size()),
                .connection = connection,
                .order = order};
  bucket = id;
  owners_[block] = id;
  link_youngest(id);
  count(slots_[id], true);
}

void Cache::erase(Bytes key) {
  if (slots_.empty()) return;
  const uint32_t id = lookup(key, hash(key));
  if (id != kNone) remove(id);
}

void Cache::flush(uint8_t connection) {
  Source& source = sources_[connection];
  ++source.generation;
  live_entries_ -= source.entries;
  live_bytes_ -= source.bytes;
  source.entries = 0;
  source.bytes = 0;
}

void Cache::flush_all() {
  for (uint8_t connection = 0; connection < kMaxConnections; ++connection) flush(connection);
}

}  // namespace orrery::state
