// SPDX-License-Identifier: Apache-2.0
// Counters, meters and registers that a program indexes itself. The control side's calls: under Pipeline::control(); an
// index beyond the size is refused as kInvalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "p4/core/bytes.h"
#include "p4/core/control_error.h"
#include "p4/core/entry.h"
#include "p4/core/meter.h"

namespace orrery::p4 {

class CounterArray {
 public:
  explicit CounterArray(uint64_t size) : cells_(size) {}

  uint64_t size() const { return cells_.size(); }
  CounterValue read(uint64_t index) const;
  void write(uint64_t index, CounterValue value);

  // Of a packet: beyond the size nothing is counted.
  bool count(uint64_t index, uint32_t bytes) {
    if (index >= cells_.size()) return false;
    cells_[index].packets += 1;
    cells_[index].bytes += bytes;
    return true;
  }

 private:
  std::vector<CounterValue> cells_;
};

class MeterArray {
 public:
  MeterArray(uint64_t size, bool bytes) : cells_(size), bytes_(bytes) {}

  uint64_t size() const { return cells_.size(); }
  // Nothing: without rates, every packet is green.
  std::optional<MeterRates> read(uint64_t index) const;
  void write(uint64_t index, std::optional<MeterRates> rates);

  // Of a packet. Precondition: index < size().
  Colour mark(uint64_t index, uint32_t bytes, uint64_t now_ns) {
    return cells_[index].mark(bytes_ ? bytes : 1, now_ns);
  }

 private:
  std::vector<Meter> cells_;
  bool bytes_;
};

class RegisterArray {
 public:
  RegisterArray(uint64_t size, uint32_t width_bits)
      : cells_(size * words_of(width_bits)), size_(size), width_(width_bits), stride_(words_of(width_bits)) {}

  uint64_t size() const { return size_; }
  uint32_t width_bits() const { return width_; }
  ByteString read(uint64_t index) const;
  void write(uint64_t index, const ByteString& value);
  void clear();

  // Of a packet. Precondition: index < size().
  uint64_t* at(uint64_t index) { return &cells_[index * stride_]; }
  const uint64_t* at(uint64_t index) const { return &cells_[index * stride_]; }

 private:
  std::vector<uint64_t> cells_;
  uint64_t size_;
  uint32_t width_;
  uint32_t stride_;
};

}  // namespace orrery::p4
