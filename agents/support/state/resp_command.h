// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>

#include "support/state/bytes.h"

namespace orrery::state {

// Appends a command to a text, as the Redis serialization protocol has it: an array of bulk strings.
class CommandWriter {
 public:
  // parts: of the command, its name included. They must follow, so many.
  CommandWriter(std::string& out, size_t parts) : out_(out) { line('*', parts); }

  void part(std::string_view bytes) {
    line('$', bytes.size());
    out_.append(bytes);
    out_.append("\r\n");
  }
  void part(Bytes bytes) { part(as_text(bytes)); }
  void part(size_t number) {
    char digits[24];
    const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
    part(std::string_view(std::begin(digits), static_cast<size_t>(end - std::begin(digits))));
  }

 private:
  void line(char type, size_t number) {
    char digits[24];
    const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
    out_ += type;
    out_.append(std::begin(digits), end);
    out_.append("\r\n");
  }

  std::string& out_;
};

inline void append_command(std::string& out, std::initializer_list<std::string_view> parts) {
  CommandWriter writer(out, parts.size());
  for (const std::string_view part : parts) writer.part(part);
}

}  // namespace orrery::state
