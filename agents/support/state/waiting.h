// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace orrery::state {

struct WaitingLimits {
  uint32_t packets = 4096;         // in total, 1 to 2^28
  uint32_t packets_of_a_key = 64;  // at least 1
  uint64_t timeout_ns = 200'000'000;
};

// Packets that wait for the reply to a request, by its token: in the order in which they came, all of a token together.
// All memory is taken when it is made. Handle: what stands for a packet; trivially copyable.
template <class Handle>
class WaitingByKey {
  static_assert(std::is_trivially_copyable_v<Handle>);

 public:
  explicit WaitingByKey(const WaitingLimits& limits)
      : limits_(limits),
        packets_(limits.packets),
        keys_(limits.packets),
        buckets_(bucket_count(limits.packets), kNone) {
    free_packets_.reserve(limits.packets);
    free_keys_.reserve(limits.packets);
    for (uint32_t id = limits.packets; id > 0; --id) {
      free_packets_.push_back(id - 1);
      free_keys_.push_back(id - 1);
    }
  }

  // False when there is no room, in total or for this token; the packet stays the caller's.
  bool park(uint64_t token, Handle handle, uint64_t now_ns) {
    uint32_t key = find(token);
    if (free_packets_.empty() || (key != kNone && keys_[key].count >= limits_.packets_of_a_key)) {
      ++refused_;
      return false;
    }
    if (key == kNone) key = add_key(token);
    const uint32_t id = free_packets_.back();
    free_packets_.pop_back();
    // Deadlines are in the order of arrival, whatever the clock was read for.
    last_deadline_ns_ = std::max(last_deadline_ns_, now_ns + limits_.timeout_ns);
    packets_[id] = {handle, last_deadline_ns_, key, kNone, youngest_, kNone};
    Key& of = keys_[key];
    (of.first == kNone ? of.first : packets_[of.last].next_of_key) = id;
    of.last = id;
    ++of.count;
    (youngest_ == kNone ? oldest_ : packets_[youngest_].younger) = id;
    youngest_ = id;
    return true;
  }

  // Whether a packet waits for the token.
  bool waits(uint64_t token) const { return find(token) != kNone; }

  // Gives the packets of a token back: each(Handle), which may park packets, also for the same token. Returns how many.
  template <class Each>
  uint32_t release(uint64_t token, Each&& each) {
    const uint32_t key = find(token);
    if (key == kNone) return 0;
    const uint32_t count = keys_[key].count;
    uint32_t id = keys_[key].first;
    remove_key(key);
    // Out of all lists first: none of them is found or expires while the others are given back.
    for (uint32_t each_id = id; each_id != kNone; each_id = packets_[each_id].next_of_key) unlink(each_id);
    while (id != kNone) {
      const Handle handle = packets_[id].handle;
      const uint32_t next = packets_[id].next_of_key;
      free_packets_.push_back(id);
      id = next;
      each(handle);
    }
    return count;
  }

  // Gives back what has waited for too long, the oldest first: each(token, Handle), which may park packets. Returns how
  // many.
  template <class Each>
  uint32_t expired(uint64_t now_ns, Each&& each) {
    uint32_t count = 0;
    for (uint32_t left = size(); left > 0 && oldest_ != kNone && packets_[oldest_].deadline_ns <= now_ns;
         --left, ++count) {
      const uint32_t id = oldest_;
      const Packet packet = packets_[id];
      Key& of = keys_[packet.key];
      const uint64_t token = of.token;
      of.first = packet.next_of_key;
      if (--of.count == 0) remove_key(packet.key);
      unlink(id);
      free_packets_.push_back(id);
      each(token, packet.handle);
    }
    return count;
  }

  uint32_t size() const { return limits_.packets - static_cast<uint32_t>(free_packets_.size()); }
  uint32_t keys() const { return limits_.packets - static_cast<uint32_t>(free_keys_.size()); }
  // How often park() had no room.
  uint64_t refused() const { return refused_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Packet {
    Handle handle;
    uint64_t deadline_ns;
    uint32_t key;
    uint32_t younger;
    uint32_t older;
    uint32_t next_of_key;
  };
  struct Key {
    uint64_t token;
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint32_t next_in_bucket;
  };

  static size_t bucket_count(uint32_t packets) { return std::bit_ceil(size_t{2} * packets); }
  // Tokens may be consecutive numbers or hashes.
  size_t bucket_of(uint64_t token) const { return (token * 0x9e37'79b9'7f4a'7c15 >> 32) & (buckets_.size() - 1); }

  uint32_t find(uint64_t token) const {
    uint32_t key = buckets_[bucket_of(token)];
    while (key != kNone && keys_[key].token != token) key = keys_[key].next_in_bucket;
    return key;
  }

  uint32_t add_key(uint64_t token) {
    const uint32_t key = free_keys_.back();
    free_keys_.pop_back();
    uint32_t& bucket = buckets_[bucket_of(token)];
    keys_[key] = {token, kNone, kNone, 0, bucket};
    bucket = key;
    return key;
  }

  void remove_key(uint32_t key) {
    uint32_t* at = &buckets_[bucket_of(keys_[key].token)];
    while (*at != key) at = &keys_[*at].next_in_bucket;
    *at = keys_[key].next_in_bucket;
    free_keys_.push_back(key);
  }

  void unlink(uint32_t id) {
    const Packet& packet = packets_[id];
    (packet.older == kNone ? oldest_ : packets_[packet.older].younger) = packet.younger;
    (packet.younger == kNone ? youngest_ : packets_[packet.younger].older) = packet.older;
  }

  const WaitingLimits limits_;
  std::vector<Packet> packets_;
  std::vector<Key> keys_;
  std::vector<uint32_t> buckets_;
  std::vector<uint32_t> free_packets_;
  std::vector<uint32_t> free_keys_;
  uint32_t oldest_ = kNone;
  uint32_t youngest_ = kNone;
  uint64_t last_deadline_ns_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace orrery::state
