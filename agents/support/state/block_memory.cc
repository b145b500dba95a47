// SPDX-License-Identifier: Apache-2.0
#include "support/state/block_memory.h"

#include <algorithm>
#include <bit>

namespace orrery::state {
namespace {

constexpr uint32_t kLargestUnits = BlockMemory::kLargestBytes / BlockMemory::kUnitBytes;

uint32_t units_for(size_t bytes) {
  const size_t blocks = std::max<size_t>((bytes + BlockMemory::kLargestBytes - 1) / BlockMemory::kLargestBytes, 1);
  return static_cast<uint32_t>(blocks * kLargestUnits);
}

}  // namespace

BlockMemory::BlockMemory(size_t bytes)
    : memory_(std::make_unique<uint8_t[]>(size_t{units_for(bytes)} * kUnitBytes)),
      free_order_(units_for(bytes), kNotFree),
      next_(units_for(bytes), kNone),
      previous_(units_for(bytes), kNone) {
  first_free_.fill(kNone);
  for (uint32_t block = units(); block > 0; block -= kLargestUnits) link(block - kLargestUnits, kOrders - 1);
}

uint8_t BlockMemory::order_of(size_t bytes) {
  const auto units = static_cast<uint32_t>((std::max<size_t>(bytes, 1) + kUnitBytes - 1) / kUnitBytes);
  return static_cast<uint8_t>(std::bit_width(units - 1));
}

void BlockMemory::link(uint32_t block, uint8_t order) {
  free_order_[block] = order;
  previous_[block] = kNone;
  next_[block] = first_free_[order];
  if (next_[block] != kNone) previous_[next_[block]] = block;
  first_free_[order] = block;
}

void BlockMemory::unlink(uint32_t block, uint8_t order) {
  free_order_[block] = kNotFree;
  if (previous_[block] == kNone) {
    first_free_[order] = next_[block];
  } else {
    next_[previous_[block]] = next_[block];
  }
  if (next_[block] != kNone) previous_[next_[block]] = previous_[block];
}

uint32_t BlockMemory::take(uint8_t order) {
  uint8_t found = order;
  while (found < kOrders && first_free_[found] == kNone) ++found;
  if (found >= kOrders) return kNone;
  const uint32_t block = first_free_[found];
  unlink(block, found);
  while (found > order) {
    --found;
    link(block + units_of(found), found);
  }
  return block;
}

void BlockMemory::give_back(uint32_t block, uint8_t order) {
  while (order + 1 < kOrders) {
    const uint32_t buddy = block ^ units_of(order);
    if (free_order_[buddy] != order) break;
    unlink(buddy, order);
    block = std::min(block, buddy);
    ++order;
  }
  link(block, order);
}

}  // namespace orrery::state
