// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "board/image/sha256.h"

namespace orrery::board {

using Uuid = std::array<uint8_t, 16>;

inline constexpr Uuid kNoUuid{};

// Version 8 UUID (RFC 9562 5.8) derived from a digest: the same content has the same UUID on every machine.
inline Uuid uuid_of(const Digest& digest) {
  Uuid out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = digest[i];
  out[6] = static_cast<uint8_t>((out[6] & 0x0f) | 0x80);
  out[8] = static_cast<uint8_t>((out[8] & 0x3f) | 0x80);
  return out;
}

inline std::string to_string(const Uuid& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kDigits[uuid[i] >> 4];
    out += kDigits[uuid[i] & 15];
  }
  return out;
}

}  // namespace orrery::board
