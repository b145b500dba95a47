// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/errors.h"

namespace orrery {

// JSON has one number type: 5.0 is an integer too (JSON Schema 2020-12 Core 4.2.3). Nothing for a negative one.
std::optional<uint64_t> as_integer(const nlohmann::json& value);

// Members of one JSON object, checked as they are read. A missing, mistyped or unknown member is refused with its JSON
// Pointer; so is a value that is no object, by the constructor.
class JsonFields {
 public:
  // Throws.
  using Refuse = std::function<void(std::string pointer, const std::string& detail)>;

  JsonFields(const nlohmann::json& object, std::string pointer, Refuse refuse);
  // Refuses with an EngineError of this code.
  JsonFields(const nlohmann::json& object, std::string pointer, std::string_view code);

  const nlohmann::json& required(const std::string& name);
  const nlohmann::json* optional(const std::string& name);

  int64_t integer(const std::string& name, int64_t lo, int64_t hi);
  int64_t integer_or(const std::string& name, int64_t lo, int64_t hi, int64_t absent);
  double number_or(const std::string& name, double lo, double absent);
  bool boolean_or(const std::string& name, bool absent);
  // Without NUL characters, behind which a C function reads nothing.
  std::string string(const std::string& name, size_t max_length);
  // For what is searched, not handed on: may have NUL characters.
  std::string pattern(const std::string& name, size_t max_length);
  std::string id(const std::string& name);
  const nlohmann::json& array(const std::string& name, size_t min_size, size_t max_size);
  // Empty when the member is absent.
  const nlohmann::json& array_or_empty(const std::string& name, size_t max_size);
  const nlohmann::json& object(const std::string& name);

  // Refuses members that were not read.
  void done() const;

  // JSON Pointer to a member, and to an element of an array member.
  std::string pointer_to(const std::string& name) const;
  std::string pointer_to(const std::string& name, size_t index) const;
  [[noreturn]] void fail(const std::string& name, const std::string& detail) const;

 private:
  const nlohmann::json& object_;
  std::string pointer_;
  Refuse refuse_;
  std::set<std::string> read_;
};

// Whether the string is an identifier of the contract (`Id`).
bool is_id(std::string_view text);

}  // namespace orrery
