// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "support/histogram.h"

namespace orrery::state {

// How a request ended.
enum class Outcome : uint8_t {
  kValue,     // the store's answer
  kAbsent,    // the store has nothing there
  kRefused,   // by the store or the function, with a text
  kTimedOut,  // no answer by the deadline; the store may or may not have done it
  kAway,      // no connection, or it was lost before the answer: the store may have done it only in the latter case
};
inline constexpr size_t kOutcomes = 5;

// A number that one thread writes and any reads.
class Count {
 public:
  void add(uint64_t n = 1) { set(get() + n); }
  void set(uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// A histogram that one thread writes and any reads.
class SharedHistogram {
 public:
  void add(uint64_t ns) { counts_[Histogram::bucket_of(ns)].add(); }

  Histogram read() const {
    Histogram out;
    for (uint32_t i = 0; i < Histogram::kBuckets; ++i)
      if (const uint64_t n = counts_[i].get(); n != 0) out.add(Histogram::bucket_lower_ns(i), n);
    return out;
  }

 private:
  std::array<Count, Histogram::kBuckets> counts_;
};

// What the packet sides have done, all of them together. `entries` and `bytes` are of now, all else counts up.
struct SideFigures {
  uint64_t requests = 0;  // fetches and calls that were taken
  uint64_t posts = 0;
  uint64_t requests_refused = 0;  // for want of room, posts included
  uint64_t cache_hits = 0;
  uint64_t cache_misses = 0;
  uint64_t cache_entries = 0;
  uint64_t cache_bytes = 0;
  uint64_t cache_evictions = 0;
  uint64_t cache_flushes = 0;  // of all entries, or of all that one connection has read
  uint64_t invalidations = 0;  // that a packet side has seen

  SideFigures& operator+=(const SideFigures& other) {
    requests += other.requests;
    posts += other.posts;
    requests_refused += other.requests_refused;
    cache_hits += other.cache_hits;
    cache_misses += other.cache_misses;
    cache_entries += other.cache_entries;
    cache_bytes += other.cache_bytes;
    cache_evictions += other.cache_evictions;
    cache_flushes += other.cache_flushes;
    invalidations += other.invalidations;
    return *this;
  }
};

// A reading of a proxy's figures. All but what is of now counts up from the proxy's start.
struct Figures {
  bool connected = false;                          // of now: to the store, or to a master for every slot of the cluster
  std::string reason;                              // why it is not connected; empty when it is
  uint64_t in_flight = 0;                          // of now: requests that wait for the store
  uint64_t connections = 0;                        // of now: established ones
  uint64_t reconnects = 0;                         // connections that were established again
  std::array<uint64_t, kOutcomes> replies{};       // by outcome
  std::array<uint64_t, kOutcomes> posts_failed{};  // by outcome; kValue and kAbsent are none
  uint64_t late_replies = 0;                       // answers that came after the deadline, and were dropped
  uint64_t replies_without_room = 0;               // answers that a packet side had no room for; told as kTimedOut
  uint64_t invalidations_lost = 0;                 // for want of room; each emptied a cache
  uint64_t redirections = 0;                       // MOVED and ASK that were followed
  uint64_t retries = 0;                            // of requests that a cluster or a store that loads did not execute
  SideFigures sides;
  Histogram fetch_latency;  // ns from a fetch to its answer at the proxy
};

}  // namespace orrery::state
