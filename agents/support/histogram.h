// SPDX-License-Identifier: Apache-2.0
// Log-linear histogram of nanoseconds; buckets as in backend/contract/src/histogram.ts.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace orrery {

class Histogram {
 public:
  // 16 exact buckets, then 16 to each of the powers of two 2^4..2^63.
  static constexpr size_t kBuckets = 16 + 60 * 16;

  static constexpr uint32_t bucket_of(uint64_t ns) {
    if (ns < 16) return static_cast<uint32_t>(ns);
    const uint32_t e = 63u - static_cast<uint32_t>(std::countl_zero(ns));
    return (e - 3) * 16 + static_cast<uint32_t>((ns >> (e - 4)) & 15);
  }

  // Smallest duration that falls into the bucket; bucket < kBuckets.
  static constexpr uint64_t bucket_lower_ns(uint32_t bucket) {
    if (bucket < 16) return bucket;
    return uint64_t{16 + bucket % 16} << (bucket / 16 - 1);
  }

  void add(uint64_t ns, uint64_t count = 1) { counts_[bucket_of(ns)] += count; }
  void clear() { counts_.fill(0); }

  // Adds another histogram bucket by bucket.
  void add(const Histogram& other) {
    for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  }

  // Takes away an earlier reading of the same histogram; a bucket that would fall below zero becomes zero.
  void subtract(const Histogram& earlier) {
    for (size_t i = 0; i < kBuckets; ++i)
      counts_[i] -= counts_[i] < earlier.counts_[i] ? counts_[i] : earlier.counts_[i];
  }

  uint64_t count() const {
    uint64_t sum = 0;
    for (uint64_t c : counts_) sum += c;
    return sum;
  }

  // Pairs of bucket and count, ascending, without empty buckets: the wire form (contract: SparseHistogram).
  std::vector<std::pair<uint32_t, uint64_t>> sparse() const {
    std::vector<std::pair<uint32_t, uint64_t>> out;
    for (uint32_t i = 0; i < kBuckets; ++i)
      if (counts_[i] != 0) out.emplace_back(i, counts_[i]);
    return out;
  }

 private:
  std::array<uint64_t, kBuckets> counts_{};
};

}  // namespace orrery
