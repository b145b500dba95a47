// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace orrery::state {

// Keys, values and arguments are bytes of any value.
using Bytes = std::span<const uint8_t>;

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What is longer is refused where it is given, never cut.
inline constexpr size_t kMaxPrefixBytes = 192;                               // of a key space
inline constexpr size_t kMaxKeyBytes = 256;                                  // of a key within its space
inline constexpr size_t kMaxStoreKeyBytes = kMaxPrefixBytes + kMaxKeyBytes;  // of both, as the store sees them
inline constexpr size_t kMaxValueBytes = 4096;
inline constexpr size_t kMaxFunctionBytes = 64;    // of a function's name
inline constexpr size_t kMaxKeys = 16;             // of a call
inline constexpr size_t kMaxArguments = 64;        // of a call
inline constexpr size_t kMaxArgumentBytes = 4096;  // of all arguments of a call together
inline constexpr size_t kMaxRefusalBytes = 256;    // of a refusal's text; what the store says beyond is left out

// Masters of a cluster with which one proxy talks.
inline constexpr size_t kMaxConnections = 64;

}  // namespace orrery::state
