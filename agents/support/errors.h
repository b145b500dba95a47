// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace orrery {

// A request that was refused; nothing has changed. `code` is one of its protocol's and must be a literal; `pointer` is
// a JSON Pointer into the params, empty when the fault has no place there.
class EngineError : public std::runtime_error {
 public:
  EngineError(std::string_view code, std::string pointer, const std::string& detail)
      : std::runtime_error(detail), code(code), pointer(std::move(pointer)) {}

  std::string_view code;
  std::string pointer;
};

}  // namespace orrery
