// SPDX-License-Identifier: Apache-2.0
#include "p4/core/arrays.h"

#include <algorithm>

namespace orrery::p4 {

namespace {

void check_index(uint64_t index, uint64_t size) {
  if (index >= size)
    throw ControlError(Refusal::kInvalid,
                       "index " + std::to_string(index) + " is beyond the size " + std::to_string(size));
}

}  // namespace

CounterValue CounterArray::read(uint64_t index) const {
  check_index(index, size());
  return cells_[index];
}

void CounterArray::write(uint64_t index, CounterValue value) {
  check_index(index, size());
  cells_[index] = value;
}

std::optional<MeterRates> MeterArray::read(uint64_t index) const {
  check_index(index, size());
  return cells_[index].rates();
}

void MeterArray::write(uint64_t index, std::optional<MeterRates> rates) {
  check_index(index, size());
  cells_[index].set(rates);
}

ByteString RegisterArray::read(uint64_t index) const {
  check_index(index, size_);
  return to_bytes(at(index), width_);
}

void RegisterArray::write(uint64_t index, const ByteString& value) {
  check_index(index, size_);
  if (!to_words(value, width_, at(index)))
    throw ControlError(Refusal::kInvalid, "value has more than " + std::to_string(width_) + " bits");
}

void RegisterArray::clear() {
  std::ranges::fill(cells_, 0);
}

}  // namespace orrery::p4
