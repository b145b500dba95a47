// SPDX-License-Identifier: Apache-2.0
#include "nfs/flow_rows.h"

#include <algorithm>
#include <string_view>

#include "support/base64.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr size_t kMagicBytes = 4;
constexpr std::string_view kMagic = "OFR1";
constexpr std::string_view kMagicWithIpv6 = "OFR2";

using Layout = std::span<const uint64_t>;

// Calls each(first number, largest number, width in bytes) of every column.
template <class Each>
void for_each_column(Layout layout, AddressWidth addresses, Each&& each) {
  for (size_t n = 0; n < layout.size(); ++n) {
    if (layout[n] == kAddressWord) {
      each(n++, kAddressWord, static_cast<uint8_t>(addresses));
    } else {
      each(n, layout[n], width_of(layout[n]));
    }
  }
}

struct Shape {
  size_t columns = 0;
  size_t row_bytes = 0;
};

Shape shape_of(Layout layout, AddressWidth addresses) {
  Shape shape;
  for_each_column(layout, addresses, [&](size_t, uint64_t, uint8_t width) {
    ++shape.columns;
    shape.row_bytes += width;
  });
  return shape;
}

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
  void skip(size_t bytes) { left_.remove_prefix(bytes); }

 private:
  std::string_view left_;
};

std::string pack(Layout layout, std::span<const uint64_t> numbers) {
  const AddressWidth addresses = address_width(layout, numbers);
  std::string out(addresses == AddressWidth::kIpv6 ? kMagicWithIpv6 : kMagic);
  const Shape shape = shape_of(layout, addresses);
  put(out, shape.columns, 1);
  for_each_column(layout, addresses, [&](size_t, uint64_t, uint8_t width) { put(out, width, 1); });
  const size_t rows = numbers.size() / layout.size();
  put(out, rows, 4);
  out.reserve(out.size() + rows * shape.row_bytes);
  for (size_t first = 0; first < numbers.size(); first += layout.size())
    for_each_column(layout, addresses, [&](size_t n, uint64_t max, uint8_t width) {
      const uint64_t* number = &numbers[first + n];
      if (max != kAddressWord) {
        put(out, *number, width);
      } else {
        put(out, number[1], width == 16 ? 8 : width);
        if (width == 16) put(out, number[0], 8);
      }
    });
  return out;
}

std::string pointer_to(const std::string& pointer, size_t row, size_t column) {
  return pointer + '/' + std::to_string(row) + '/' + std::to_string(column);
}

void check(uint64_t number, size_t row, size_t column, uint64_t max, const std::string& pointer) {
  if (number > max)
    throw ConfigError(pointer_to(pointer, row, column), "must be an integer from 0 to " + std::to_string(max));
}

void append(std::vector<uint64_t>& numbers, const Ipv6Address& address) {
  numbers.push_back(address.high);
  numbers.push_back(address.low);
}

std::vector<uint64_t> unpack(const std::string& text, const std::string& pointer, Layout layout, size_t max_rows) {
  const auto refuse = [&](const std::string& detail) { throw ConfigError(pointer, detail); };
  const auto decoded = base64_decode(text);
  if (!decoded) refuse("must be rows of numbers, or base64");
  Bytes bytes(*decoded);
  const bool ipv6 = bytes.starts_with(kMagicWithIpv6);
  if (!ipv6 && !bytes.starts_with(kMagic)) refuse("are no binary rows of version 1 or 2");
  bytes.skip(kMagicBytes);
  const AddressWidth addresses = ipv6 ? AddressWidth::kIpv6 : AddressWidth::kIpv4;
  const Shape shape = shape_of(layout, addresses);
  if (!bytes.has(1) || bytes.take(1) != shape.columns || !bytes.has(shape.columns))
    refuse("must have rows of " + std::to_string(shape.columns) + " numbers");
  for_each_column(layout, addresses, [&](size_t, uint64_t, uint8_t width) {
    if (bytes.take(1) != width) refuse("have columns of other widths than this NF's");
  });
  if (!bytes.has(4)) refuse("end early");
  const uint64_t rows = bytes.take(4);
  if (rows > max_rows) refuse("must have at most " + std::to_string(max_rows) + " elements");
  if (!bytes.has(rows * shape.row_bytes)) refuse("end early");
  std::vector<uint64_t> numbers;
  numbers.reserve(rows * layout.size());
  for (size_t row = 0; row < rows; ++row) {
    size_t column = 0;
    for_each_column(layout, addresses, [&](size_t, uint64_t max, uint8_t width) {
      const uint64_t low = bytes.take(width == 16 ? 8 : width);
      if (max != kAddressWord) {
        check(low, row, column, max, pointer);
        numbers.push_back(low);
      } else if (width == 16) {
        append(numbers, {bytes.take(8), low});
      } else {
        append(numbers, ipv4_mapped(static_cast<uint32_t>(low)));
      }
      ++column;
    });
  }
  if (!bytes.empty()) refuse("go on behind the last row");
  return numbers;
}

Ipv6Address read_address(const json& value, const std::string& pointer) {
  if (value.is_string())
    if (const auto address = parse_ipv6_address(value.get_ref<const std::string&>())) return *address;
  if (const auto number = as_integer(value); number && *number <= UINT32_MAX)
    return ipv4_mapped(static_cast<uint32_t>(*number));
  throw ConfigError(pointer, "must be an integer from 0 to " + std::to_string(UINT32_MAX) + " or an IPv6 address");
}

std::vector<uint64_t> from_arrays(const json::array_t& rows, const std::string& pointer, Layout layout) {
  const size_t columns = shape_of(layout, AddressWidth::kIpv4).columns;
  std::vector<uint64_t> numbers;
  numbers.reserve(rows.size() * layout.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_array() || rows[i].size() != columns)
      throw ConfigError(pointer + '/' + std::to_string(i),
                        "must be an array of " + std::to_string(columns) + " numbers");
    size_t column = 0;
    for_each_column(layout, AddressWidth::kIpv4, [&](size_t, uint64_t max, uint8_t) {
      const json& value = rows[i][column];
      if (max == kAddressWord) {
        append(numbers, read_address(value, pointer_to(pointer, i, column)));
      } else {
        const auto number = as_integer(value);
        check(number.value_or(UINT64_MAX), i, column, number ? max : std::min(max, UINT64_MAX - 1), pointer);
        numbers.push_back(*number);
      }
      ++column;
    });
  }
  return numbers;
}

json::array_t to_array(Layout layout, std::span<const uint64_t> row) {
  json::array_t out;
  for_each_column(layout, AddressWidth::kIpv4, [&](size_t n, uint64_t max, uint8_t) {
    if (max != kAddressWord) {
      out.emplace_back(row[n]);
      return;
    }
    const Ipv6Address address{row[n], row[n + 1]};
    if (is_ipv4_mapped(address)) {
      out.emplace_back(static_cast<uint32_t>(address.low));
    } else {
      out.emplace_back(address_text(address));
    }
  });
  return out;
}

}  // namespace

AddressWidth address_width(std::span<const uint64_t> layout, std::span<const uint64_t> numbers) {
  for (size_t first = 0; first < numbers.size(); first += layout.size())
    for (size_t n = 0; n < layout.size(); ++n) {
      if (layout[n] != kAddressWord) continue;
      if (!is_ipv4_mapped({numbers[first + n], numbers[first + n + 1]})) return AddressWidth::kIpv6;
      ++n;
    }
  return AddressWidth::kIpv4;
}

json write_rows(std::span<const uint64_t> layout, std::span<const uint64_t> numbers, RowForm form) {
  if (form == RowForm::kBinary) return base64_encode(pack(layout, numbers));
  json rows = json::array();
  for (size_t first = 0; first < numbers.size(); first += layout.size())
    rows.push_back(to_array(layout, numbers.subspan(first, layout.size())));
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
