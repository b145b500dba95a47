// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace orrery {

// The last N things of a kind, and how many there were.
template <class T, size_t N>
class Recent {
 public:
  T& add() { return items_[count_++ % N]; }
  uint64_t count() const { return count_; }

  // The newest first, at most `limit`.
  template <class Visit>
  void for_each(size_t limit, Visit&& visit) const {
    const uint64_t n = std::min<uint64_t>({count_, N, limit});
    for (uint64_t i = 1; i <= n; ++i) visit(items_[(count_ - i) % N]);
  }

 private:
  std::array<T, N> items_{};
  uint64_t count_ = 0;
};

}  // namespace orrery
