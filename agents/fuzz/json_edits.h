// SPDX-License-Identifier: Apache-2.0
// Changes a JSON value as bytes of the fuzzer say: so that nearly right values come up, which bytes alone hardly give.
#pragma once

#include <nlohmann/json.hpp>

#include "fuzz/input.h"

namespace orrery::fuzz {

// A value that is at the edge of something, or of another type.
inline nlohmann::json edge_value(Input& in) {
  static const nlohmann::json kValues = nlohmann::json::parse(R"([
    null, true, false, 0, 1, 2, 3, 15, 16, 63, 64, 65, 255, 256, 1000, 4096, 65535, 65536, 2147483647, 2147483648,
    4294967295, 4294967296, 9007199254740993, 18446744073709551615, -1, -2147483649, 0.25, 0.1, -0.0, 5.0, 1e300, "",
    "a", "0", "\u0000", "a\u0000b", "é", "0.0.0.0", "10.0.0.1", "10.0.0.0/8", "255.255.255.255/32", "10.0.0.1/33",
    "::", "2001:db8::1", "2001:db8::/32", "::/0", "::ffff:1.2.3.4", "1", "0-65535", "65535-1", "80-81", "tcp", "udp",
    "icmp", "allow", "deny", "drop", "/", "/a/../b", "*.example.com", "(a|b)*c", "((((", "[", "a{1000}", "\\x00",
    "02:00:00:00:00:01", "yield", "poll", "src", "null", "queue", [], {}, [[]], [null], {"a": 1}
  ])");
  return kValues[in.u8() % kValues.size()];
}

// One change somewhere in the value.
inline void edit(nlohmann::json& value, Input& in) {
  nlohmann::json* at = &value;
  for (int depth = 0; depth < 8 && at->is_structured() && !at->empty() && in.u8() % 4 != 0; ++depth) {
    const size_t index = in.u8() % at->size();
    at = at->is_array() ? &(*at)[index] : &std::next(at->begin(), static_cast<ptrdiff_t>(index)).value();
  }
  switch (in.u8() % 6) {
    case 0:
    case 1:
      *at = edge_value(in);
      break;
    case 2:
      if (at->is_object()) {
        (*at)[std::string(1, static_cast<char>('a' + in.u8() % 26))] = edge_value(in);
      } else if (at->is_array()) {
        at->push_back(edge_value(in));
      }
      break;
    case 3:
      if (at->is_object() && !at->empty()) {
        at->erase(std::next(at->begin(), in.u8() % static_cast<ptrdiff_t>(at->size())));
      } else if (at->is_array() && !at->empty()) {
        at->erase(in.u8() % at->size());
      }
      break;
    case 4:  // an element twice, or many times
      if (at->is_array() && !at->empty() && at->size() < 64) {
        const nlohmann::json element = (*at)[in.u8() % at->size()];
        for (int n = 1 << in.u8() % 8; n > 0; --n) at->push_back(element);
      }
      break;
    default:
      if (at->is_number_integer()) {
        *at = at->get<int64_t>() + static_cast<int8_t>(in.u8());
      } else if (at->is_string()) {
        auto text = at->get<std::string>();
        const Bytes more = in.bytes(in.u8() % 16u);
        // JSON texts are UTF-8.
        for (const uint8_t byte : more) text.insert(in.u8() % (text.size() + 1), 1, static_cast<char>(byte & 0x7f));
        *at = text;
      }
  }
}

inline nlohmann::json edited(nlohmann::json value, Input& in) {
  for (int n = in.u8() % 5; n > 0; --n) edit(value, in);
  return value;
}

}  // namespace orrery::fuzz
