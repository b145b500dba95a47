// SPDX-License-Identifier: Apache-2.0
#include "modules/merge/copy_table.h"

#include <algorithm>
#include <bit>

namespace orrery {

CopyTable::CopyTable(uint32_t capacity, uint32_t held_each)
    : capacity_(capacity),
      held_each_(held_each),
      // Twice as many buckets as entries.
      shift_(64 - static_cast<unsigned>(std::bit_width(std::bit_ceil(uint64_t{capacity} * 4) - 1))),
      entries_(size_t{capacity} * 2),
      held_(entries_.size() * held_each, nullptr),
      buckets_(size_t{1} << (64 - shift_), kNone) {
  for (size_t i = entries_.size(); i-- > 0; free_ = static_cast<uint32_t>(i)) entries_[i].next_in_bucket = free_;
}

CopyTable::Entry* CopyTable::find(uint64_t id) {
  for (uint32_t i = buckets_[bucket_of(id)]; i != kNone; i = entries_[i].next_in_bucket)
    if (entries_[i].id == id) return &entries_[i];
  return nullptr;
}

CopyTable::Entry& CopyTable::insert(uint64_t id, State state, uint64_t now_ns) {
  const uint32_t index = free_;
  Entry& entry = entries_[index];
  free_ = entry.next_in_bucket;
  entry.id = id;
  entry.since_ns = now_ns;
  entry.ingress_ns = UINT64_MAX;
  entry.arrived = entry.metadata = 0;
  entry.no_ops = 0;
  entry.state = state;
  uint32_t& bucket = buckets_[bucket_of(id)];
  entry.next_in_bucket = bucket;
  bucket = index;
  append(state == State::kDone ? done_ : open_, index);
  waiting_ += state == State::kWaiting;
  return entry;
}

void CopyTable::drop(Entry& entry) {
  entry.state = State::kDropped;
  --waiting_;
}

CopyTable::Entry* CopyTable::oldest() {
  return open_.oldest == kNone ? nullptr : &entries_[open_.oldest];
}

CopyTable::Entry* CopyTable::oldest_done() {
  return done_.oldest == kNone ? nullptr : &entries_[done_.oldest];
}

void CopyTable::finish(Entry& entry, uint64_t now_ns) {
  if (done_.count == capacity_) forget(*oldest_done());
  waiting_ -= entry.state == State::kWaiting;
  entry.state = State::kDone;
  entry.since_ns = now_ns;
  unlink(open_, index_of(entry));
  append(done_, index_of(entry));
}

void CopyTable::forget(Entry& entry) {
  remove(done_, entry);
}

void CopyTable::take_newest(CopyTable& from) {
  move_newest(&CopyTable::open_, from);
  move_newest(&CopyTable::done_, from);
}

void CopyTable::move_newest(List CopyTable::*list, CopyTable& from) {
  const uint32_t count = (from.*list).count;
  uint32_t index = (from.*list).oldest;
  for (uint32_t n = 0; n < count; ++n) {
    Entry& entry = from.entries_[index];
    index = entry.newer;
    if (count - n > capacity_) continue;
    Entry& mine = insert(entry.id, entry.state, entry.since_ns);
    mine.ingress_ns = entry.ingress_ns;
    mine.arrived = entry.arrived;
    mine.metadata = entry.metadata;
    mine.no_ops = entry.no_ops;
    std::copy_n(from.held(entry), held_each_, held(mine));
    std::fill_n(from.held(entry), held_each_, nullptr);
    from.waiting_ -= entry.state == State::kWaiting;
    from.remove(from.*list, entry);
  }
}

void CopyTable::append(List& list, uint32_t index) {
  entries_[index].older = list.newest;
  entries_[index].newer = kNone;
  (list.newest == kNone ? list.oldest : entries_[list.newest].newer) = index;
  list.newest = index;
  ++list.count;
}

void CopyTable::unlink(List& list, uint32_t index) {
  const Entry& entry = entries_[index];
  (entry.older == kNone ? list.oldest : entries_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? list.newest : entries_[entry.newer].older) = entry.older;
  --list.count;
}

void CopyTable::remove(List& list, Entry& entry) {
  const uint32_t index = index_of(entry);
  unlink(list, index);
  uint32_t* link = &buckets_[bucket_of(entry.id)];
  while (*link != index) link = &entries_[*link].next_in_bucket;
  *link = entry.next_in_bucket;
  entry.next_in_bucket = free_;
  free_ = index;
}

}  // namespace orrery
