// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "support/errors.h"

namespace orrery {

// Members of one JSON object, checked as they are read: a missing, mistyped or unknown member throws EngineError with
// `code` and the JSON Pointer of the member.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string pointer, std::string_view code);

  const nlohmann::json& required(const std::string& name);
  const nlohmann::json* optional(const std::string& name);

  int64_t integer(const std::string& name, int64_t lo, int64_t hi);
  int64_t integer_or(const std::string& name, int64_t lo, int64_t hi, int64_t absent);
  double number_or(const std::string& name, double lo, double absent);
  bool boolean_or(const std::string& name, bool absent);
  std::string string(const std::string& name, size_t max_length);
  std::string id(const std::string& name);
  const nlohmann::json& array(const std::string& name, size_t min_size, size_t max_size);
  const nlohmann::json& object(const std::string& name);

  // Throws for a member that nobody read.
  void done() const;

  std::string pointer_to(const std::string& name) const { return pointer_ + "/" + name; }
  [[noreturn]] void fail(const std::string& name, const std::string& detail) const;

 private:
  const nlohmann::json& object_;
  std::string pointer_;
  std::string_view code_;
  std::set<std::string> read_;
};

// Whether the string is an identifier of the contract (`Id`).
bool is_id(std::string_view text);

}  // namespace orrery
