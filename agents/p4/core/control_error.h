// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace orrery::p4 {

enum class Refusal : uint8_t {
  kInvalid,        // a value that cannot be: wrong width, unknown action, missing priority
  kNotFound,       // names what is not there
  kAlreadyExists,  // an entry with this match and priority, a group with this number
  kFull,           // the size that the program gives is reached
  kConstant,       // the program forbids the change
  kInUse,          // a member that a group or an entry names
};

// A control call that was refused; nothing has changed.
class ControlError : public std::runtime_error {
 public:
  ControlError(Refusal refusal, const std::string& detail) : std::runtime_error(detail), refusal(refusal) {}

  Refusal refusal;
};

}  // namespace orrery::p4
