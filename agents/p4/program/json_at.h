// SPDX-License-Identifier: Apache-2.0
// A place in the JSON of a program: what is read there, or a refusal that names the place.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "p4/core/bytes.h"
#include "p4/program/program.h"

namespace orrery::p4 {

// As in the JSON: sign and size, so that a number is not bound to a width.
struct HexNumber {
  bool negative = false;
  Words words;  // at least one

  uint32_t bits() const;  // without the sign
};

class JsonAt {
 public:
  JsonAt(const nlohmann::json& value, std::string pointer) : value_(&value), pointer_(std::move(pointer)) {}

  JsonAt operator[](const char* name) const;
  // Nothing where the member is absent or null.
  std::optional<JsonAt> find(const char* name) const;
  // The elements of an array; an absent member has none.
  std::vector<JsonAt> items(const char* name) const;
  std::vector<JsonAt> items() const;
  // An array of exactly so many.
  std::vector<JsonAt> tuple(size_t size) const;

  std::string text() const;
  uint64_t number(uint64_t low, uint64_t high) const;
  bool boolean() const;
  HexNumber hex() const;
  // Of at most so many bits, not negative.
  Words hex(uint32_t width_bits) const;
  bool is_null() const { return value_->is_null(); }
  bool is_text() const { return value_->is_string(); }
  bool is_number() const { return value_->is_number(); }
  bool is_array() const { return value_->is_array(); }
  bool has(const char* name) const { return value_->is_object() && value_->contains(name); }
  const nlohmann::json& value() const { return *value_; }

  [[noreturn]] void refuse(const std::string& detail) const;
  [[noreturn]] void unsupported(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string pointer_;
};

}  // namespace orrery::p4
