// SPDX-License-Identifier: Apache-2.0
// Flow state on its way between two instances: rows of unsigned numbers. In JSON they are arrays, as boards write them,
// or one string, as software writes them: base64 (RFC 4648 4) of
//
//   "OFR1" | columns u8 | width of each column in bytes u8 (1, 2, 4 or 8) | rows u32 | rows, packed
//
// with all numbers little-endian. Where a row has an IPv6 address it is "OFR2" instead, in which the columns of
// addresses are 16 bytes wide and hold IPv4 addresses as IPv4-mapped ones. In arrays an IPv6 address is a text, and an
// IPv4 address a number.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "nfs/config_reader.h"

namespace orrery {

inline constexpr uint64_t kMaxAgeMs = 86'400'000'000;

inline uint64_t age_ms(uint64_t now_ns, uint64_t then_ns) {
  return now_ns > then_ns ? std::min((now_ns - then_ns) / 1'000'000u, kMaxAgeMs) : 0;
}
inline uint64_t time_at_age(uint64_t now_ns, uint64_t age_ms) {
  return now_ns > age_ms * 1'000'000u ? now_ns - age_ms * 1'000'000u : 0;
}

// The largest number in each column; the width is that of the smallest of 1, 2, 4 and 8 bytes that holds it. A column
// of addresses is two numbers of a row, the words of an Ipv6Address, for which kAddressWord stands twice.
template <size_t N>
using RowLayout = std::array<uint64_t, N>;
inline constexpr uint64_t kAddressWord = 0;

enum class AddressWidth : uint8_t { kIpv4 = 4, kIpv6 = 16 };

constexpr uint8_t width_of(uint64_t max) {
  return max <= UINT8_MAX ? 1 : max <= UINT16_MAX ? 2 : max <= UINT32_MAX ? 4 : 8;
}

// Most rows in an export, so that as base64 they fit into a line of the control protocol; the first go.
constexpr size_t max_rows(std::span<const uint64_t> layout, AddressWidth addresses = AddressWidth::kIpv4) {
  constexpr size_t kBytes = 3'000'000;
  size_t width = 0;
  for (const uint64_t max : layout) width += max == kAddressWord ? size_t(addresses) / 2 : width_of(max);
  return kBytes / width;
}

// What rows need, one number after the other.
AddressWidth address_width(std::span<const uint64_t> layout, std::span<const uint64_t> numbers);

// Rows of any layout, one number after the other.
nlohmann::json write_rows(std::span<const uint64_t> layout, std::span<const uint64_t> numbers, RowForm form);

// In either form. Throws ConfigError that points to the bad number or says what is wrong with the string.
std::vector<uint64_t> read_rows(ConfigReader& reader, const char* field, std::span<const uint64_t> layout,
                                size_t max_rows);

template <size_t N>
std::span<const uint64_t> numbers_of(const std::vector<std::array<uint64_t, N>>& rows) {
  return {rows.empty() ? nullptr : rows[0].data(), rows.size() * N};
}

template <size_t N>
nlohmann::json write_rows(const RowLayout<N>& layout, const std::vector<std::array<uint64_t, N>>& rows, RowForm form) {
  return write_rows(std::span<const uint64_t>(layout), numbers_of(rows), form);
}

template <size_t N>
std::vector<std::array<uint64_t, N>> read_rows(ConfigReader& reader, const char* field, const RowLayout<N>& layout) {
  const std::span<const uint64_t> columns(layout);
  const std::vector<uint64_t> numbers = read_rows(reader, field, columns, max_rows(columns));
  std::vector<std::array<uint64_t, N>> rows(numbers.size() / N);
  for (size_t i = 0; i < numbers.size(); ++i) rows[i / N][i % N] = numbers[i];
  return rows;
}

}  // namespace orrery
