// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace orrery::bytestream {

// Order of sequence numbers, which wrap around (RFC 9293 3.4): negative where a is before b.
inline int32_t distance(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a - b);
}

// Bytes of many streams that wait for others in front of them, in a bounded number of blocks. Of bytes that come twice
// the first stay. The operating system provides memory as it is first used; nothing is allocated later.
class HeldBytes {
  static constexpr uint32_t kNone = UINT32_MAX;

 public:
  static constexpr uint32_t kBlockBytes = 500;

  struct alignas(64) Block {
    uint32_t sequence;
    uint32_t next;
    uint32_t length;
    uint8_t data[kBlockBytes];
  };
  static_assert(sizeof(Block) == 512);

  // Those of one stream, in order.
  struct List {
    uint32_t first = kNone;
    uint32_t last = kNone;
    uint32_t blocks = 0;

    bool empty() const { return first == kNone; }
  };

  explicit HeldBytes(uint32_t blocks)
      : capacity_(blocks), blocks_(std::make_unique_for_overwrite<Block[]>(capacity_)) {}

  uint32_t capacity() const { return capacity_; }
  uint32_t blocks_in_use() const { return in_use_; }
  uint64_t bytes() const { return bytes_; }

  const Block& first(const List& list) const { return blocks_[list.first]; }

  // Keeps what is not held yet. False: there was no room for all of it.
  bool hold(List& list, uint32_t sequence, std::span<const uint8_t> bytes, uint32_t most_blocks) {
    uint32_t before = kNone, at = list.first;
    // Behind all that is held is the usual place.
    if (!list.empty() && distance(sequence, end_of(list.last)) >= 0) {
      before = list.last;
      at = kNone;
    }
    while (!bytes.empty()) {
      size_t count = bytes.size();
      if (at != kNone) {
        const int32_t held = distance(end_of(at), sequence), space = distance(blocks_[at].sequence, sequence);
        if (space <= 0) {
          count = std::min<size_t>(count, static_cast<size_t>(std::max(held, 0)));
          sequence += static_cast<uint32_t>(count);
          bytes = bytes.subspan(count);
          before = at;
          at = blocks_[at].next;
          continue;
        }
        count = std::min<size_t>(count, static_cast<size_t>(space));
      }
      if (before == kNone || end_of(before) != sequence || blocks_[before].length == kBlockBytes) {
        if (list.blocks == most_blocks || in_use_ == capacity_) return false;
        before = insert(list, before, sequence);
      }
      Block& block = blocks_[before];
      count = std::min<size_t>(count, kBlockBytes - block.length);
      std::memcpy(block.data + block.length, bytes.data(), count);
      block.length += static_cast<uint32_t>(count);
      bytes_ += count;
      sequence += static_cast<uint32_t>(count);
      bytes = bytes.subspan(count);
    }
    return true;
  }

  void pop(List& list) {
    const uint32_t id = list.first;
    Block& block = blocks_[id];
    list.first = block.next;
    if (list.first == kNone) list.last = kNone;
    --list.blocks;
    bytes_ -= block.length;
    block.next = free_;
    free_ = id;
    --in_use_;
  }

  void clear(List& list) {
    while (!list.empty()) pop(list);
  }

 private:
  uint32_t end_of(uint32_t id) const { return blocks_[id].sequence + blocks_[id].length; }

  uint32_t insert(List& list, uint32_t before, uint32_t sequence) {
    uint32_t id = free_;
    if (id != kNone) {
      free_ = blocks_[id].next;
    } else {
      id = unused_++;
    }
    uint32_t& link = before == kNone ? list.first : blocks_[before].next;
    blocks_[id].sequence = sequence;
    blocks_[id].length = 0;
    blocks_[id].next = link;
    link = id;
    if (list.last == before) list.last = id;
    ++list.blocks;
    ++in_use_;
    return id;
  }

  uint32_t capacity_;
  std::unique_ptr<Block[]> blocks_;
  uint32_t free_ = kNone;
  uint32_t unused_ = 0;  // blocks from here on were never used
  uint32_t in_use_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace orrery::bytestream
