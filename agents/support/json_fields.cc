// SPDX-License-Identifier: Apache-2.0
#include "support/json_fields.h"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace orrery {

namespace {

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_id(std::string_view text) {
  if (text.empty() || text.size() > 120 || !is_alnum(text[0])) return false;
  for (char c : text)
    if (!is_alnum(c) && std::string_view("._:/-").find(c) == std::string_view::npos) return false;
  return true;
}

std::optional<uint64_t> as_integer(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer() && value.get<int64_t>() >= 0) return value.get<uint64_t>();
  if (value.is_number_float()) {
    const double d = value.get<double>();
    if (d >= 0 && d < 0x1p53 && d == std::floor(d)) return static_cast<uint64_t>(d);
  }
  return std::nullopt;
}

JsonFields::JsonFields(const nlohmann::json& object, std::string pointer, Refuse refuse)
    : object_(object), pointer_(std::move(pointer)), refuse_(std::move(refuse)) {
  if (!object_.is_object()) refuse_(pointer_, "must be an object");
}

JsonFields::JsonFields(const nlohmann::json& object, std::string pointer, std::string_view code)
    : JsonFields(object, std::move(pointer), [code](std::string at, const std::string& detail) {
        throw EngineError(code, std::move(at), detail);
      }) {}

std::string JsonFields::pointer_to(const std::string& name) const {
  return pointer_ + (nlohmann::json::json_pointer() / name).to_string();
}

std::string JsonFields::pointer_to(const std::string& name, size_t index) const {
  return pointer_to(name) + '/' + std::to_string(index);
}

void JsonFields::fail(const std::string& name, const std::string& detail) const {
  refuse_(pointer_to(name), detail);
  std::abort();
}

const nlohmann::json* JsonFields::optional(const std::string& name) {
  read_.insert(name);
  const auto it = object_.find(name);
  return it == object_.end() ? nullptr : &*it;
}

const nlohmann::json& JsonFields::required(const std::string& name) {
  const nlohmann::json* value = optional(name);
  if (value == nullptr) fail(name, "is required");
  return *value;
}

int64_t JsonFields::integer(const std::string& name, int64_t lo, int64_t hi) {
  const nlohmann::json& value = required(name);
  std::optional<int64_t> number;
  if (const auto positive = as_integer(value)) {
    if (*positive <= uint64_t{std::numeric_limits<int64_t>::max()}) number = static_cast<int64_t>(*positive);
  } else if (value.is_number_integer()) {
    number = value.get<int64_t>();
  }
  if (!number || *number < lo || *number > hi)
    fail(name, "must be an integer from " + std::to_string(lo) + " to " + std::to_string(hi));
  return *number;
}

int64_t JsonFields::integer_or(const std::string& name, int64_t lo, int64_t hi, int64_t absent) {
  return optional(name) == nullptr ? absent : integer(name, lo, hi);
}

double JsonFields::number_or(const std::string& name, double lo, double absent) {
  const nlohmann::json* value = optional(name);
  if (value == nullptr) return absent;
  if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < lo)
    fail(name, "must be a number of at least " + std::to_string(lo));
  return value->get<double>();
}

bool JsonFields::boolean_or(const std::string& name, bool absent) {
  const nlohmann::json* value = optional(name);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) fail(name, "must be true or false");
  return value->get<bool>();
}

std::string JsonFields::string(const std::string& name, size_t max_length) {
  std::string text = pattern(name, max_length);
  if (text.find('\0') != std::string::npos) fail(name, "must not have NUL characters");
  return text;
}

std::string JsonFields::pattern(const std::string& name, size_t max_length) {
  const nlohmann::json& value = required(name);
  if (!value.is_string()) fail(name, "must be a string");
  auto text = value.get<std::string>();
  if (text.empty() || text.size() > max_length)
    fail(name, "must have 1 to " + std::to_string(max_length) + " characters");
  return text;
}

std::string JsonFields::id(const std::string& name) {
  std::string text = string(name, 120);
  if (!is_id(text)) fail(name, "must be an identifier of at most 120 characters");
  return text;
}

const nlohmann::json& JsonFields::array(const std::string& name, size_t min_size, size_t max_size) {
  const nlohmann::json& value = required(name);
  if (!value.is_array()) fail(name, "must be an array");
  if (min_size == 0 && value.size() > max_size)
    fail(name, "must have at most " + std::to_string(max_size) + " elements");
  if (value.size() < min_size || value.size() > max_size)
    fail(name, "must have " + std::to_string(min_size) + " to " + std::to_string(max_size) + " elements");
  return value;
}

const nlohmann::json& JsonFields::array_or_empty(const std::string& name, size_t max_size) {
  static const nlohmann::json kEmpty = nlohmann::json::array();
  return optional(name) == nullptr ? kEmpty : array(name, 0, max_size);
}

const nlohmann::json& JsonFields::object(const std::string& name) {
  const nlohmann::json& value = required(name);
  if (!value.is_object()) fail(name, "must be an object");
  return value;
}

void JsonFields::done() const {
  for (const auto& [name, value] : object_.items())
    if (!read_.contains(name)) fail(name, "is not a known field");
}

}  // namespace orrery
