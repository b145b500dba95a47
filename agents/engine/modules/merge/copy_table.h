// SPDX-License-Identifier: Apache-2.0
// The packets whose copies a merge waits for (HydraNF 6.5.1, packet state table), and those it has done with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct rte_mbuf;

namespace orrery {

// Nothing is allocated after the constructor. Times must not run backwards.
class CopyTable {
 public:
  enum class State : uint8_t {
    kWaiting,  // for copies
    kDropped,  // by a branch; the other branches' copies are still to come
    kDone,     // merged or given up; kept to tell late copies from new packets
  };

  struct Entry {
    uint64_t id;
    uint64_t since_ns;    // the first copy, or when it was done with
    uint64_t ingress_ns;  // least of the copies
    uint16_t arrived;     // branches, by bit
    uint16_t metadata;    // of all copies, or-ed
    uint8_t no_ops;
    State state;

   private:
    friend class CopyTable;
    uint32_t next_in_bucket;
    uint32_t older, newer;
  };

  // At most `capacity` open entries (waiting or dropped), and as many that are done; `held_each`: packets that each may
  // hold.
  CopyTable(uint32_t capacity, uint32_t held_each);

  uint32_t capacity() const { return capacity_; }
  uint32_t open() const { return open_.count; }
  uint32_t waiting() const { return waiting_; }

  // Loads what find() will look at.
  void prefetch(uint64_t id) const { __builtin_prefetch(&buckets_[bucket_of(id)]); }

  // Null when there is none.
  Entry* find(uint64_t id);

  // Preconditions: none of this id, open() < capacity().
  Entry& insert(uint64_t id, State state, uint64_t now_ns);

  // A waiting entry becomes a dropped one. Precondition: it holds nothing.
  void drop(Entry& entry);

  // Of the open ones; null when there is none. Likewise of those that are done.
  Entry* oldest();
  Entry* oldest_done();

  // An open entry is done with; the oldest of those that are is forgotten when there are too many. Precondition: it
  // holds nothing.
  void finish(Entry& entry, uint64_t now_ns);

  // Precondition: it is done.
  void forget(Entry& entry);

  // Packets that the entry holds, `held_each` slots, null where none is.
  rte_mbuf** held(const Entry& entry) { return &held_[size_t{index_of(entry)} * held_each_]; }
  uint32_t held_each() const { return held_each_; }

  // Takes what another table knows, which must be of as many packets each: its newest entries, as many as fit. The
  // others stay there. Precondition: this table is empty.
  void take_newest(CopyTable& from);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // From the oldest to the newest.
  struct List {
    uint32_t oldest = kNone, newest = kNone, count = 0;
  };

  size_t bucket_of(uint64_t id) const { return (id * 0x9e3779b97f4a7c15u) >> shift_; }
  uint32_t index_of(const Entry& entry) const { return static_cast<uint32_t>(&entry - entries_.data()); }
  void append(List& list, uint32_t index);
  void unlink(List& list, uint32_t index);
  void remove(List& list, Entry& entry);
  void move_newest(List CopyTable::*list, CopyTable& from);

  uint32_t capacity_;
  uint32_t held_each_;
  unsigned shift_;
  std::vector<Entry> entries_;
  std::vector<rte_mbuf*> held_;
  std::vector<uint32_t> buckets_;  // first entry of each
  uint32_t free_ = kNone;          // linked by next_in_bucket
  uint32_t waiting_ = 0;
  List open_, done_;
};

}  // namespace orrery
