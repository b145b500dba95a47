// SPDX-License-Identifier: Apache-2.0
// How a fuzz target reads the bytes that the fuzzer gives it, and what it says of what must hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace orrery::fuzz {

using Bytes = std::vector<uint8_t>;

// From the front; zeros behind the end.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  uint8_t u8() {
    if (left_.empty()) return 0;
    const uint8_t first = left_[0];
    left_ = left_.subspan(1);
    return first;
  }
  uint16_t u16() {
    const uint8_t high = u8();
    return static_cast<uint16_t>(high << 8 | u8());
  }
  // At most so many.
  Bytes bytes(size_t most) {
    const auto first = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(first.size());
    return {first.begin(), first.end()};
  }
  Bytes rest() { return bytes(left_.size()); }

 private:
  std::span<const uint8_t> left_;
};

// Ends the process, which the fuzzer reports with the input.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what.c_str());
  std::abort();
}

}  // namespace orrery::fuzz

// What each target defines: inputs from which the fuzzer begins, and what it runs.
std::vector<orrery::fuzz::Bytes> seeds();
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
