// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/state/block_memory.h"
#include "support/state/bytes.h"
#include "support/state/key_space.h"

namespace orrery::state {

// Values by the store's keys, those used last. Bounded in entries and in bytes; all memory is taken when it is made. It
// does not know until when an entry may be served.
//
// A value without room for it puts out the entry that was used longest ago and, where that leaves no room in one
// piece, the entries beside it in memory: at most 128.
class Cache {
 public:
  // max_entries: at most 2^28; 0: it holds nothing.
  Cache(uint32_t max_entries, size_t max_bytes);

  struct Found {
    Bytes value;  // until the next call that is not find()
    uint8_t connection;
  };
  // Marks the entry as used.
  std::optional<Found> find(const StoreKey& key);

  // In place of the value that it has for the key. Preconditions: the key has at most kMaxStoreKeyBytes, the value at
  // most kMaxValueBytes, connection < kMaxConnections.
  void insert(Bytes key, Bytes value, uint8_t connection);
  void erase(Bytes key);
  // What was read on this connection, and all. In constant time: the room comes back as it is needed.
  void flush(uint8_t connection);
  void flush_all();

  uint32_t entries() const { return live_entries_; }
  size_t bytes() const { return live_bytes_; }
  uint64_t evictions() const { return evictions_; }

 private:
  static constexpr uint32_t kNone = BlockMemory::kNone;

  struct Entry {
    uint32_t block;
    uint32_t hash;
    uint32_t next_in_bucket;
    uint32_t younger;
    uint32_t older;
    uint32_t generation;
    uint16_t key_bytes;
    uint16_t value_bytes;
    uint8_t connection;
    uint8_t order;
  };
  // What is cached of one connection.
  struct Source {
    uint32_t generation = 0;
    uint32_t entries = 0;
    size_t bytes = 0;
  };

  uint32_t hash(Bytes key) const;
  Bytes key_of(const Entry& entry) const { return {memory_.at(entry.block), entry.key_bytes}; }
  bool live(const Entry& entry) const { return entry.generation == sources_[entry.connection].generation; }
  uint32_t lookup(Bytes key, uint32_t hash) const;
  void link_youngest(uint32_t id);
  void unlink(uint32_t id);
  void count(const Entry& entry, bool in);
  void remove(uint32_t id);
  void evict(uint32_t id);
  void evict_in(uint32_t first, uint32_t units);
  uint32_t take_block(uint8_t order);

  BlockMemory memory_;
  std::vector<Entry> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> buckets_;
  std::vector<uint32_t> owners_;  // by a block's first unit: the entry that has it
  std::array<Source, kMaxConnections> sources_{};
  std::array<uint8_t, kMaxStoreKeyBytes> joined_{};
  uint32_t youngest_ = kNone;
  uint32_t oldest_ = kNone;
  uint32_t live_entries_ = 0;
  size_t live_bytes_ = 0;
  uint64_t evictions_ = 0;
  uint64_t seed_;
};

}  // namespace orrery::state
