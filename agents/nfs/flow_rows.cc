// SPDX-License-Identifier: Apache-2.0
#include "nfs/flow_rows.h"

#include <algorithm>
#include <string_view>

#include "support/base64.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "OFR1";

void put(std::string& out, uint64_t number, uint8_t width) {
  for (uint8_t byte = 0; byte < width; ++byte) out += static_cast<char>(number >> (8 * byte) & 0xff);
}

// Takes numbers from the front of what is left.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  bool has(size_t bytes) const { return left_.size() >= bytes; }
  bool empty() const { return left_.empty(); }
  // Precondition: has(width).
  uint64_t take(uint8_t width) {
    uint64_t number = 0;
    for (uint8_t byte = 0; byte < width; ++byte) number |= uint64_t{static_cast<uint8_t>(left_[byte])} << (8 * byte);
    left_.remove_prefix(width);
    return number;
  }
  bool starts_with(std::string_view text) const { return left_.starts_with(text); }

 private:
  std::string_view left_;
};

std::string pack(std::span<const uint64_t> layout, std::span<const uint64_t> numbers) {
  std::string out(kMagic);
  put(out, layout.size(), 1);
  size_t row_bytes = 0;
  for (const uint64_t max : layout) {
    put(out, width_of(max), 1);
    row_bytes += width_of(max);
  }
  const size_t rows = numbers.size() / layout.size();
  put(out, rows, 4);
  out.reserve(out.size() + rows * row_bytes);
  for (size_t i = 0; i < numbers.size(); ++i) put(out, numbers[i], width_of(layout[i % layout.size()]));
  return out;
}

void check(uint64_t number, size_t row, size_t column, uint64_t max, const std::string& pointer) {
  if (number > max)
    throw ConfigError(pointer + '/' + std::to_string(row) + '/' + std::to_string(column),
                      "must be an integer from 0 to " + std::to_string(max));
}

std::vector<uint64_t> unpack(const std::string& text, const std::string& pointer, std::span<const uint64_t> layout,
                             size_t max_rows) {
  const auto refuse = [&](const std::string& detail) { throw ConfigError(pointer, detail); };
  const auto decoded = base64_decode(text);
  if (!decoded) refuse("must be rows of numbers, or base64");
  Bytes bytes(*decoded);
  size_t row_bytes = 0;
  for (const uint64_t max : layout) row_bytes += width_of(max);
  if (!bytes.starts_with(kMagic)) refuse("are no binary rows of version 1");
  bytes.take(4);
  if (!bytes.has(1) || bytes.take(1) != layout.size() || !bytes.has(layout.size()))
    refuse("must have rows of " + std::to_string(layout.size()) + " numbers");
  for (const uint64_t max : layout)
    if (bytes.take(1) != width_of(max)) refuse("have columns of other widths than this NF's");
  if (!bytes.has(4)) refuse("end early");
  const uint64_t rows = bytes.take(4);
  if (rows > max_rows) refuse("must have at most " + std::to_string(max_rows) + " elements");
  if (!bytes.has(rows * row_bytes)) refuse("end early");
  std::vector<uint64_t> numbers(rows * layout.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t column = i % layout.size();
    numbers[i] = bytes.take(width_of(layout[column]));
    check(numbers[i], i / layout.size(), column, layout[column], pointer);
  }
  if (!bytes.empty()) refuse("go on behind the last row");
  return numbers;
}

std::vector<uint64_t> from_arrays(const json::array_t& rows, const std::string& pointer,
                                  std::span<const uint64_t> layout) {
  std::vector<uint64_t> numbers;
  numbers.reserve(rows.size() * layout.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_array() || rows[i].size() != layout.size())
      throw ConfigError(pointer + '/' + std::to_string(i),
                        "must be an array of " + std::to_string(layout.size()) + " numbers");
    for (size_t n = 0; n < layout.size(); ++n) {
      const auto value = as_integer(rows[i][n]);
      check(value.value_or(UINT64_MAX), i, n, value ? layout[n] : std::min(layout[n], UINT64_MAX - 1), pointer);
      numbers.push_back(*value);
    }
  }
  return numbers;
}

}  // namespace

json write_rows(std::span<const uint64_t> layout, std::span<const uint64_t> numbers, RowForm form) {
  if (form == RowForm::kBinary) return base64_encode(pack(layout, numbers));
  json rows = json::array();
  for (size_t first = 0; first < numbers.size(); first += layout.size()) {
    const auto row = numbers.subspan(first, layout.size());
    rows.push_back(json::array_t(row.begin(), row.end()));
  }
  return rows;
}

std::vector<uint64_t> read_rows(ConfigReader& reader, const char* field, std::span<const uint64_t> layout,
                                size_t max_rows) {
  const json* rows = reader.optional(field);
  if (rows != nullptr && rows->is_string())
    return unpack(rows->get_ref<const std::string&>(), reader.pointer_to(field), layout, max_rows);
  return from_arrays(reader.array_or_empty(field, max_rows).get_ref<const json::array_t&>(), reader.pointer_to(field),
                     layout);
}

}  // namespace orrery
