// SPDX-License-Identifier: Apache-2.0
// Reads an NF's configuration strictly: wrong types, values out of range and unknown fields become a ConfigError that
// points to them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nfs/nf_core.h"

namespace orrery {

struct Ipv4Prefix {
  uint32_t address;  // host byte order; bits behind the prefix are zero
  uint8_t length;

  bool operator==(const Ipv4Prefix&) const = default;
  uint32_t last() const { return address | static_cast<uint32_t>(uint64_t{UINT32_MAX} >> length); }
};

struct PortRange {
  uint16_t lo;
  uint16_t hi;

  bool operator==(const PortRange&) const = default;
};

// JSON has one number type: 5.0 is an integer too (JSON Schema 2020-12 Core 4.2.3). Nothing for a negative one.
std::optional<uint64_t> as_integer(const nlohmann::json& value);

// "10.0.0.0/8" or "10.1.2.3"; nothing else. Bits behind the prefix are cleared.
std::optional<Ipv4Prefix> parse_prefix(std::string_view text);
std::optional<uint32_t> parse_address(std::string_view text);
std::string address_text(uint32_t address);

// One JSON object of a configuration. Each getter names a field once; finish() refuses fields that no getter named.
class ConfigReader {
 public:
  // Throws ConfigError when `value` is not an object.
  ConfigReader(const nlohmann::json& value, std::string pointer);

  bool boolean(const char* field, bool fallback);
  uint64_t integer(const char* field, uint64_t lo, uint64_t hi, std::optional<uint64_t> fallback);
  // A number as so many steps of `step`, a power of two.
  uint64_t steps(const char* field, double step, uint64_t lo, uint64_t hi, uint64_t fallback);
  std::string text(const char* field, size_t max_length, std::optional<std::string> fallback);
  std::string choice(const char* field, std::initializer_list<std::string_view> choices,
                     std::optional<std::string> fallback);
  std::optional<Ipv4Prefix> prefix(const char* field);
  std::optional<uint8_t> protocol(const char* field);
  std::optional<PortRange> ports(const char* field);

  // The elements of an array field; empty when the field is absent.
  const nlohmann::json::array_t& array(const char* field, size_t max_length);

  // JSON Pointer to a field of this object, and to an element of an array field.
  std::string at(std::string_view field) const;
  std::string at(std::string_view field, size_t index) const;

  void finish() const;

 private:
  const nlohmann::json* take(const char* field);

  const nlohmann::json& object_;
  std::string pointer_;
  std::vector<std::string_view> known_;
};

}  // namespace orrery
