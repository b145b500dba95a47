// SPDX-License-Identifier: Apache-2.0
// Whole numbers in two's complement for expressions: 64 bits, 128 bits, or as wide as any program's. What does not fit
// is cut off: the loader has chosen the numbers so that nothing that counts is.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "p4/program/code.h"

namespace orrery::p4 {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

inline constexpr uint32_t kWideWords = kMaxNumberBits / 64;

struct Wide {
  std::array<uint64_t, kWideWords> words;

  Wide() = default;
  explicit Wide(int64_t value) {
    words.fill(value < 0 ? ~uint64_t{0} : 0);
    words[0] = static_cast<uint64_t>(value);
  }
  bool negative() const { return words.back() >> 63 != 0; }
  bool is_zero() const {
    return std::ranges::all_of(words, [](uint64_t word) { return word == 0; });
  }
  bool bit(uint32_t place) const { return (words[place / 64] >> (place % 64) & 1) != 0; }

  Wide operator~() const {
    Wide out;
    for (uint32_t i = 0; i < kWideWords; ++i) out.words[i] = ~words[i];
    return out;
  }
  Wide operator-() const { return ~*this + Wide(1); }
  Wide operator+(const Wide& other) const {
    Wide out;
    Uint128 sum = 0;
    for (uint32_t i = 0; i < kWideWords; ++i) {
      sum += Uint128{words[i]} + other.words[i];
      out.words[i] = static_cast<uint64_t>(sum);
      sum >>= 64;
    }
    return out;
  }
  Wide operator-(const Wide& other) const { return *this + ~other + Wide(1); }
  Wide operator*(const Wide& other) const {
    Wide out(0);
    for (uint32_t i = 0; i < kWideWords; ++i) {
      Uint128 carry = 0;
      for (uint32_t j = 0; words[i] != 0 && i + j < kWideWords; ++j) {
        carry += Uint128{words[i]} * other.words[j] + out.words[i + j];
        out.words[i + j] = static_cast<uint64_t>(carry);
        carry >>= 64;
      }
    }
    return out;
  }
  Wide operator&(const Wide& other) const {
    Wide out;
    for (uint32_t i = 0; i < kWideWords; ++i) out.words[i] = words[i] & other.words[i];
    return out;
  }
  Wide operator|(const Wide& other) const { return ~(~*this & ~other); }
  Wide operator^(const Wide& other) const {
    Wide out;
    for (uint32_t i = 0; i < kWideWords; ++i) out.words[i] = words[i] ^ other.words[i];
    return out;
  }
  Wide shifted_left(uint32_t by) const {
    Wide out(0);
    for (uint32_t i = kWideWords; i > by / 64; --i) {
      const uint32_t from = i - 1 - by / 64;
      out.words[i - 1] = words[from] << (by % 64);
      if (by % 64 != 0 && from > 0) out.words[i - 1] |= words[from - 1] >> (64 - by % 64);
    }
    return out;
  }
  Wide shifted_right(uint32_t by) const {
    const uint64_t sign = negative() ? ~uint64_t{0} : 0;
    Wide out;
    for (uint32_t i = 0; i < kWideWords; ++i) {
      const uint32_t from = i + by / 64;
      const uint64_t low = from < kWideWords ? words[from] : sign;
      const uint64_t high = from + 1 < kWideWords ? words[from + 1] : sign;
      out.words[i] = by % 64 == 0 ? low : low >> (by % 64) | high << (64 - by % 64);
    }
    return out;
  }
  bool operator==(const Wide& other) const = default;
  bool operator<(const Wide& other) const {
    if (negative() != other.negative()) return negative();
    for (uint32_t i = kWideWords; i > 0; --i)
      if (words[i - 1] != other.words[i - 1]) return words[i - 1] < other.words[i - 1];
    return false;
  }

  // Towards zero; by nothing gives nothing.
  static void divide(const Wide& left, const Wide& right, Wide& quotient, Wide& rest) {
    const Wide by = right.negative() ? -right : right;
    const Wide of = left.negative() ? -left : left;
    quotient = Wide(0);
    rest = Wide(0);
    if (right.is_zero()) return;
    for (uint32_t place = kMaxNumberBits; place > 0; --place) {
      rest = rest.shifted_left(1);
      if (of.bit(place - 1)) rest.words[0] |= 1;
      if (rest < by) continue;
      rest = rest - by;
      quotient.words[(place - 1) / 64] |= uint64_t{1} << ((place - 1) % 64);
    }
    if (left.negative() != right.negative()) quotient = -quotient;
    if (left.negative()) rest = -rest;
  }
};

// The same calls for all three.
template <class T>
struct Arithmetic {
  using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t, Uint128>;
  static constexpr uint32_t kBits = sizeof(T) * 8;

  static T load(const uint64_t* words, uint32_t width, bool is_signed) {
    Unsigned value = words[0];
    if constexpr (sizeof(T) == 16)
      if (width > 64) value |= Unsigned{words[1]} << 64;
    if (is_signed) return extend(static_cast<T>(value), width);
    return static_cast<T>(value);
  }
  static T load_constant(const uint64_t* words, uint32_t count) {
    if constexpr (sizeof(T) == 16) {
      if (count > 1) return static_cast<T>(Unsigned{words[1]} << 64 | words[0]);
      return static_cast<int64_t>(words[0]);
    }
    return static_cast<T>(words[0]);
  }
  static void store(T value, uint64_t* words, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      if (i * 64 < kBits) {
        words[i] = static_cast<uint64_t>(static_cast<Unsigned>(value) >> (i * 64));
      } else {
        words[i] = value < 0 ? ~uint64_t{0} : 0;
      }
    }
  }
  static T from(int64_t value) { return value; }
  static int64_t low(T value) { return static_cast<int64_t>(value); }
  static bool is_zero(T value) { return value == 0; }
  static bool negative(T value) { return value < 0; }
  // Whether the number is beyond a shift that leaves something.
  static bool shifts_all_out(T by) { return by < 0 || by >= T{kBits}; }
  static T extend(T value, uint32_t width) {
    if (width >= kBits) return value;
    return static_cast<T>(static_cast<Unsigned>(value) << (kBits - width)) >> (kBits - width);
  }
  static T add(T a, T b) { return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)); }
  static T sub(T a, T b) { return static_cast<T>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b)); }
  static T mul(T a, T b) { return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b)); }
  static T div(T a, T b) { return b == 0 ? 0 : b == -1 ? sub(0, a) : a / b; }
  static T mod(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; }
  static T shl(T a, uint32_t by) { return static_cast<T>(static_cast<Unsigned>(a) << by); }
  static T shr(T a, uint32_t by) { return a >> by; }
  // 2 to the power of `bits`, less one.
  static T most(uint32_t bits) {
    return bits >= kBits - 1 ? static_cast<T>(~Unsigned{0} >> 1) : static_cast<T>((Unsigned{1} << bits) - 1);
  }
};

template <>
struct Arithmetic<Wide> {
  static constexpr uint32_t kBits = kMaxNumberBits;

  static Wide load(const uint64_t* words, uint32_t width, bool is_signed) {
    Wide out(0);
    std::copy_n(words, words_of(width), out.words.begin());
    return is_signed ? extend(out, width) : out;
  }
  static Wide load_constant(const uint64_t* words, uint32_t count) {
    Wide out(static_cast<int64_t>(words[count - 1]) < 0 ? -1 : 0);
    std::copy_n(words, std::min(count, kWideWords), out.words.begin());
    return out;
  }
  static void store(const Wide& value, uint64_t* words, uint32_t count) {
    std::copy_n(value.words.begin(), std::min(count, kWideWords), words);
  }
  static Wide from(int64_t value) { return Wide(value); }
  static int64_t low(const Wide& value) { return static_cast<int64_t>(value.words[0]); }
  static bool is_zero(const Wide& value) { return value.is_zero(); }
  static bool negative(const Wide& value) { return value.negative(); }
  static bool shifts_all_out(const Wide& by) { return by.negative() || !(by < Wide(kBits)); }
  static Wide extend(const Wide& value, uint32_t width) {
    if (width >= kBits) return value;
    return value.shifted_left(kBits - width).shifted_right(kBits - width);
  }
  static Wide add(const Wide& a, const Wide& b) { return a + b; }
  static Wide sub(const Wide& a, const Wide& b) { return a - b; }
  static Wide mul(const Wide& a, const Wide& b) { return a * b; }
  static Wide div(const Wide& a, const Wide& b) {
    Wide quotient;
    Wide rest;
    Wide::divide(a, b, quotient, rest);
    return quotient;
  }
  static Wide mod(const Wide& a, const Wide& b) {
    Wide quotient;
    Wide rest;
    Wide::divide(a, b, quotient, rest);
    return rest;
  }
  static Wide shl(const Wide& a, uint32_t by) { return a.shifted_left(by); }
  static Wide shr(const Wide& a, uint32_t by) { return a.shifted_right(by); }
  static Wide most(uint32_t bits) { return Wide(1).shifted_left(std::min(bits, kBits - 1)) - Wide(1); }
};

}  // namespace orrery::p4
