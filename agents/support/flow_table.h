// SPDX-License-Identifier: Apache-2.0
// Bounded hash table of flows. All memory is taken when it is made; nothing is allocated later.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

namespace orrery {

// A key of which a part is seldom there.
template <class Key>
concept HasRarePart = requires(const Key& key) {
  typename Key::Common;
  typename Key::Rare;
  { Key::has_rare(key.common()) } -> std::same_as<bool>;
  { Key::joined(key.common(), key.rare()) } -> std::same_as<Key>;
};

// What a table's entries hold of a key, and what lies beside them.
template <class Key>
struct KeyParts {
  using Common = Key;
  struct Rare {};
};
template <HasRarePart Key>
struct KeyParts<Key> {
  using Common = typename Key::Common;
  using Rare = typename Key::Rare;
};

// Map from Key to Value in order of last use. Key and Value are trivially copyable; Key has no padding. Each entry is
// on one of `kLanes` lanes, and each lane has an order of its own. The rare parts of keys are in memory that the
// operating system provides when the first is written.
//
// The order is kept coarsely: an entry moves to the young end when it is used and has stood still for `granularity_ns`,
// so a packet of a known flow rarely touches its neighbours in the list. The order is exact to that time.
//
// Use in a batch: write all keys, then hash() and prefetch() for all, then prefetch_entry() for all, then find(). To
// hash a key that was just written costs some 5 ns more: it is read in wider pieces than it was written in, and that
// waits until the writes have reached the cache.
template <class Key, class Value, size_t kLanes = 1>
class FlowTable {
  // Takes no room where there is one lane.
  struct OnlyLane {
    OnlyLane& operator=(uint8_t) { return *this; }
    operator uint8_t() const { return 0; }
  };
  using Lane = std::conditional_t<kLanes == 1, OnlyLane, uint8_t>;
  using Common = typename KeyParts<Key>::Common;
  using Rare = typename KeyParts<Key>::Rare;

 public:
  struct alignas(64) Entry {
    Common key;
    Value value;
    uint64_t last_seen_ns;

   private:
    friend class FlowTable;
    uint64_t moved_ns;
    uint32_t younger;
    uint32_t older;
    [[no_unique_address]] Lane lane;
  };

  // capacity: 1 to 2^28.
  FlowTable(uint32_t capacity, uint64_t granularity_ns)
      : capacity_(capacity),
        granularity_ns_(granularity_ns),
        mask_(std::bit_ceil(uint32_t{2} * capacity) - 1),
        slots_(size_t{mask_} + 1, Slot{0, kNone}),
        entries_(std::make_unique_for_overwrite<Entry[]>(capacity)) {
    if constexpr (HasRarePart<Key>) rare_ = std::make_unique_for_overwrite<Rare[]>(capacity);
    youngest_.fill(kNone);
    oldest_.fill(kNone);
    std::random_device random;
    seed_ = uint64_t{random()} << 32 | random();
  }

  // Drawn at random, so that tables can be told apart.
  uint64_t id() const { return seed_; }
  // Entries that were ever used stand below.
  uint32_t positions() const { return unused_; }
  uint32_t size() const { return size_; }
  uint32_t capacity() const { return capacity_; }
  bool full() const { return size_ == capacity_; }
  // From now on; the order of what was used before stays as coarse as it is.
  void set_granularity(uint64_t granularity_ns) { granularity_ns_ = granularity_ns; }

  // Seeded at random for each table, so that nobody can send keys that collide.
  uint32_t hash(const Key& key) const {
    static_assert(std::is_trivially_copyable_v<Key>);
    uint64_t sum = mix_in(common_of(key), seed_);
    if constexpr (HasRarePart<Key>)
      if (Key::has_rare(key.common())) sum = mix_in(key.rare(), sum);
    return static_cast<uint32_t>(sum ^ sum >> 32);
  }

  Key key_of(const Entry& entry) const {
    if constexpr (HasRarePart<Key>) {
      return Key::joined(entry.key, Key::has_rare(entry.key) ? rare_[id_of(entry)] : Rare{});
    } else {
      return entry.key;
    }
  }

  void prefetch(uint32_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  // Precondition for speed only: prefetch(hash) was called a while ago.
  void prefetch_entry(uint32_t hash) const {
    const Slot& slot = slots_[hash & mask_];
    if (slot.entry != kNone) __builtin_prefetch(&entries_[slot.entry]);
  }

  Entry* find(const Key& key, uint32_t hash) { return look_for(key, hash); }
  const Entry* find(const Key& key, uint32_t hash) const { return look_for(key, hash); }

  size_t lane_of(const Entry& entry) const { return entry.lane; }

  // Marks the entry as used, on this lane from now on.
  void touch(Entry& entry, uint64_t now_ns, size_t lane = 0) {
    entry.last_seen_ns = now_ns;
    if (entry.lane == lane && now_ns - entry.moved_ns < granularity_ns_) return;
    entry.moved_ns = now_ns;
    const uint32_t id = id_of(entry);
    if (id == youngest_[lane]) return;
    unlink(id);
    link_youngest(id, lane);
  }

  // As the youngest. Preconditions: the table is not full and does not hold the key. Value is value-initialized.
  Entry& insert(const Key& key, uint32_t hash, uint64_t now_ns, size_t lane = 0) {
    const uint32_t id = occupy(key, hash, now_ns);
    link_youngest(id, lane);
    return entries_[id];
  }

  // At the place in its lane's order that its last use has, as the youngest among its equals. Preconditions: those of
  // insert(); `older` is null or an entry that is no younger. Near such an entry of the same lane the place is found at
  // once, without one by a walk from the nearer end.
  Entry& insert_by_age(const Key& key, uint32_t hash, uint64_t last_seen_ns, const Entry* older, size_t lane = 0) {
    const bool placed = older != nullptr && older->lane == lane;
    const uint32_t neighbour = placed ? younger_than(last_seen_ns, *older) : younger_than(last_seen_ns, lane);
    const uint32_t id = occupy(key, hash, last_seen_ns);
    if (neighbour == kNone) {
      link_youngest(id, lane);
    } else {
      link_older_than(id, neighbour);
    }
    return entries_[id];
  }

  // A copy of an entry of another table, as the oldest of its lane: at once, whatever the order of last use.
  // Preconditions: those of insert().
  Entry& copy_as_oldest(const FlowTable& from, const Entry& entry) {
    const Key key = from.key_of(entry);
    const uint32_t id = occupy(key, hash(key), entry.last_seen_ns);
    Entry& copy = entries_[id];
    copy.value = entry.value;
    copy.moved_ns = entry.moved_ns;
    link_oldest(id, entry.lane);
    return copy;
  }

  // Whether the entry is still the one that was inserted with this key and time, and was not used since.
  bool is_unused(const Entry& entry, const Key& key, uint64_t last_seen_ns) const {
    return entry.younger != kFreed && has_key(entry, key) && entry.last_seen_ns == last_seen_ns;
  }

  // Not inlined: what is rare would lengthen the path of every packet.
  [[gnu::noinline]] void erase(Entry& entry) {
    const uint32_t id = id_of(entry);
    uint32_t hole = hash(key_of(entry)) & mask_;
    while (slots_[hole].entry != id) hole = (hole + 1) & mask_;
    // Close the gap, so that no probe ends early (Knuth 6.4, algorithm R).
    for (uint32_t i = (hole + 1) & mask_; slots_[i].entry != kNone; i = (i + 1) & mask_) {
      const uint32_t home = slots_[i].hash & mask_;
      if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole].entry = kNone;
    unlink(id);
    entry.younger = kFreed;
    entry.older = free_;
    free_ = id;
    --size_;
  }

  // The entry of a lane that has been idle longest (to granularity_ns), nullptr when the lane is empty.
  Entry* oldest(size_t lane = 0) { return oldest_[lane] == kNone ? nullptr : &entries_[oldest_[lane]]; }

  Entry* youngest(size_t lane = 0) { return youngest_[lane] == kNone ? nullptr : &entries_[youngest_[lane]]; }

  // Removes at most `limit` entries of a lane idle for `idle_ns` or longer, each after on_erase(entry). Returns how
  // many.
  template <class OnErase>
  uint32_t expire(uint64_t now_ns, uint64_t idle_ns, uint32_t limit, OnErase&& on_erase, size_t lane = 0) {
    uint32_t count = 0;
    for (; count < limit && oldest_[lane] != kNone; ++count) {
      Entry& entry = entries_[oldest_[lane]];
      if (now_ns < entry.last_seen_ns || now_ns - entry.last_seen_ns < idle_ns) break;
      on_erase(entry);
      erase(entry);
    }
    return count;
  }

  // Lane by lane, each from the youngest to the oldest; stops when `visit` returns false.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const uint32_t first : youngest_)
      for (uint32_t id = first; id != kNone; id = entries_[id].older)
        if (!visit(entries_[id])) return;
  }

  // Visits the entries at positions from `first` on, in no order, at most `count` positions. Returns the position to go
  // on from, or nothing at the end. Where the table changes in between, an entry that was removed and inserted again
  // may be visited twice or not at all; any other that stays is visited once.
  template <class Visit>
  std::optional<uint32_t> visit_positions(uint32_t first, uint32_t count, Visit&& visit) const {
    if (first >= unused_) return std::nullopt;
    const uint32_t end = unused_ - first > count ? first + count : unused_;
    for (uint32_t id = first; id < end; ++id)
      if (entries_[id].younger != kFreed) visit(entries_[id]);
    return end == unused_ ? std::nullopt : std::optional(end);
  }

  // Position of an entry, stable while it exists and below capacity(); and back.
  uint32_t id_of(const Entry& entry) const { return static_cast<uint32_t>(&entry - entries_.get()); }
  Entry& at(uint32_t id) { return entries_[id]; }
  const Entry& at(uint32_t id) const { return entries_[id]; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kFreed = UINT32_MAX - 1;

  struct Slot {
    uint32_t hash;
    uint32_t entry;
  };

  static uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  template <class Words>
  static uint64_t mix_in(const Words& of, uint64_t sum) {
    static_assert(sizeof(Words) % 8 == 0 && std::has_unique_object_representations_v<Words>);
    std::array<uint64_t, std::max<size_t>(2, sizeof(Words) / 8)> words{};
    std::memcpy(words.data(), &of, sizeof(Words));
    sum = mix(words[0] ^ sum, 0x9e3779b97f4a7c15u);
    for (size_t i = 1; i < words.size(); ++i) sum = mix(words[i] ^ sum, 0xd6e8feb86659fd93u);
    return sum;
  }

  static Common common_of(const Key& key) {
    if constexpr (HasRarePart<Key>) {
      return key.common();
    } else {
      return key;
    }
  }

  bool has_key(const Entry& entry, const Key& key) const {
    if (!(entry.key == common_of(key))) return false;
    if constexpr (HasRarePart<Key>) return !Key::has_rare(entry.key) || rare_[id_of(entry)] == key.rare();
    return true;
  }

  Entry* look_for(const Key& key, uint32_t hash) const {
    for (uint32_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.entry == kNone) return nullptr;
      if (slot.hash == hash && has_key(entries_[slot.entry], key)) return &entries_[slot.entry];
    }
  }

  [[gnu::noinline]] uint32_t occupy(const Key& key, uint32_t hash, uint64_t last_seen_ns) {
    uint32_t id = free_;
    if (id != kNone) {
      free_ = entries_[id].older;
    } else {
      id = unused_++;
    }
    Entry& entry = entries_[id];
    entry.key = common_of(key);
    if constexpr (HasRarePart<Key>)
      if (Key::has_rare(entry.key)) rare_[id] = key.rare();
    entry.value = Value{};
    entry.last_seen_ns = entry.moved_ns = last_seen_ns;
    uint32_t i = hash & mask_;
    while (slots_[i].entry != kNone) i = (i + 1) & mask_;
    slots_[i] = {hash, id};
    ++size_;
    return id;
  }

  // The oldest of a lane's entries that are younger than a last use; kNone when there is none.
  uint32_t younger_than(uint64_t last_seen_ns, size_t lane) const {
    uint32_t from_old = oldest_[lane];
    for (uint32_t from_young = youngest_[lane]; from_young != kNone; from_young = entries_[from_young].older) {
      if (entries_[from_young].last_seen_ns <= last_seen_ns) return entries_[from_young].younger;
      if (entries_[from_old].last_seen_ns > last_seen_ns) return from_old;
      from_old = entries_[from_old].younger;
    }
    return kNone;
  }

  // The same, looked for from an entry on that is no younger.
  uint32_t younger_than(uint64_t last_seen_ns, const Entry& older) const {
    uint32_t id = older.younger;
    while (id != kNone && entries_[id].last_seen_ns <= last_seen_ns) id = entries_[id].younger;
    return id;
  }

  void unlink(uint32_t id) {
    Entry& e = entries_[id];
    (e.younger == kNone ? youngest_[e.lane] : entries_[e.younger].older) = e.older;
    (e.older == kNone ? oldest_[e.lane] : entries_[e.older].younger) = e.younger;
  }

  void link_youngest(uint32_t id, size_t lane) {
    Entry& e = entries_[id];
    e.lane = static_cast<uint8_t>(lane);
    e.younger = kNone;
    e.older = youngest_[lane];
    (youngest_[lane] == kNone ? oldest_[lane] : entries_[youngest_[lane]].younger) = id;
    youngest_[lane] = id;
  }

  void link_oldest(uint32_t id, size_t lane) {
    Entry& e = entries_[id];
    e.lane = static_cast<uint8_t>(lane);
    e.older = kNone;
    e.younger = oldest_[lane];
    (oldest_[lane] == kNone ? youngest_[lane] : entries_[oldest_[lane]].older) = id;
    oldest_[lane] = id;
  }

  void link_older_than(uint32_t id, uint32_t younger) {
    Entry& e = entries_[id];
    e.lane = entries_[younger].lane;
    e.younger = younger;
    e.older = entries_[younger].older;
    (e.older == kNone ? oldest_[e.lane] : entries_[e.older].younger) = id;
    entries_[younger].older = id;
  }

  uint32_t capacity_;
  uint64_t granularity_ns_;
  uint32_t mask_;
  uint64_t seed_ = 0;
  std::vector<Slot> slots_;
  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<Rare[]> rare_;  // by the position of the entry; null where keys have none
  uint32_t size_ = 0;
  uint32_t unused_ = 0;  // entries from here on were never used
  uint32_t free_ = kNone;
  std::array<uint32_t, kLanes> youngest_;
  std::array<uint32_t, kLanes> oldest_;
};

}  // namespace orrery
