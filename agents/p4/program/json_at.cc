// SPDX-License-Identifier: Apache-2.0
#include "p4/program/json_at.h"

#include <bit>

#include "support/json_fields.h"

namespace orrery::p4 {

namespace {

// Longer than any number of a program.
constexpr size_t kMaxDigits = 1024;

std::optional<uint64_t> digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace

uint32_t HexNumber::bits() const {
  for (size_t i = words.size(); i > 0; --i)
    if (words[i - 1] != 0) return static_cast<uint32_t>(i * 64) - std::countl_zero(words[i - 1]);
  return 0;
}

void JsonAt::refuse(const std::string& detail) const {
  throw ProgramError(pointer_, false, detail);
}

void JsonAt::unsupported(const std::string& what) const {
  throw ProgramError(pointer_, true, what + " is not supported");
}

std::optional<JsonAt> JsonAt::find(const char* name) const {
  if (!value_->is_object()) refuse("must be an object");
  const auto it = value_->find(name);
  if (it == value_->end() || it->is_null()) return std::nullopt;
  return JsonAt(*it, pointer_ + '/' + name);
}

JsonAt JsonAt::operator[](const char* name) const {
  if (!value_->is_object()) refuse("must be an object");
  const auto it = value_->find(name);
  if (it == value_->end()) refuse(std::string("has no member ") + name);
  return {*it, pointer_ + '/' + name};
}

std::vector<JsonAt> JsonAt::items(const char* name) const {
  const auto member = find(name);
  return member ? member->items() : std::vector<JsonAt>{};
}

std::vector<JsonAt> JsonAt::items() const {
  if (!value_->is_array()) refuse("must be an array");
  std::vector<JsonAt> all;
  all.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) all.emplace_back((*value_)[i], pointer_ + '/' + std::to_string(i));
  return all;
}

std::vector<JsonAt> JsonAt::tuple(size_t size) const {
  std::vector<JsonAt> all = items();
  if (all.size() != size) refuse("must have " + std::to_string(size) + " elements");
  return all;
}

std::string JsonAt::text() const {
  if (!value_->is_string()) refuse("must be a string");
  return value_->get<std::string>();
}

uint64_t JsonAt::number(uint64_t low, uint64_t high) const {
  const auto number = as_integer(*value_);
  if (!number || *number < low || *number > high)
    refuse("must be an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return *number;
}

bool JsonAt::boolean() const {
  if (!value_->is_boolean()) refuse("must be true or false");
  return value_->get<bool>();
}

HexNumber JsonAt::hex() const {
  const std::string all = text();
  HexNumber number;
  std::string_view digits = all;
  if (digits.starts_with('-')) {
    number.negative = true;
    digits.remove_prefix(1);
  }
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  if (digits.empty() || digits.size() > kMaxDigits) refuse("must be a hexadecimal number");
  number.words.assign(digits.size() / 16 + 1, 0);
  for (size_t i = 0; i < digits.size(); ++i) {
    const auto digit = digit_value(digits[digits.size() - 1 - i]);
    if (!digit) refuse("must be a hexadecimal number");
    number.words[i / 16] |= *digit << (i % 16 * 4);
  }
  return number;
}

Words JsonAt::hex(uint32_t width_bits) const {
  HexNumber number = hex();
  if (number.bits() > width_bits || (number.negative && number.bits() > 0))
    refuse("must be a number of at most " + std::to_string(width_bits) + " bits");
  number.words.resize(words_of(width_bits));
  return std::move(number.words);
}

}  // namespace orrery::p4
