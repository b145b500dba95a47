// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace orrery::state {

// Memory in blocks of 64 bytes times a power of two, up to 8 KiB. All is taken when it is made. A block that is given
// back joins its neighbour when both are free (buddies).
class BlockMemory {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint32_t kUnitBytes = 64;
  static constexpr uint8_t kOrders = 8;
  static constexpr uint32_t kLargestBytes = kUnitBytes << (kOrders - 1);

  // bytes: rounded up to the largest block, at most 64 GiB.
  explicit BlockMemory(size_t bytes);

  // The smallest power of two whose block holds so many bytes; at most kLargestBytes.
  static uint8_t order_of(size_t bytes);
  static uint32_t units_of(uint8_t order) { return uint32_t{1} << order; }

  uint32_t units() const { return static_cast<uint32_t>(free_order_.size()); }

  // First unit of the block, or kNone when there is no free one.
  uint32_t take(uint8_t order);
  // Precondition: take(order) gave the block.
  void give_back(uint32_t block, uint8_t order);

  uint8_t* at(uint32_t block) { return memory_.get() + size_t{block} * kUnitBytes; }
  const uint8_t* at(uint32_t block) const { return memory_.get() + size_t{block} * kUnitBytes; }

 private:
  static constexpr uint8_t kNotFree = 0xff;

  void link(uint32_t block, uint8_t order);
  void unlink(uint32_t block, uint8_t order);

  std::unique_ptr<uint8_t[]> memory_;
  std::vector<uint8_t> free_order_;  // of the first unit of a free block, otherwise kNotFree
  std::vector<uint32_t> next_;
  std::vector<uint32_t> previous_;
  std::array<uint32_t, kOrders> first_free_;
};

}  // namespace orrery::state
