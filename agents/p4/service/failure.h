// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <stdexcept>
#include <string>

namespace orrery::p4::service {

using Code = ::grpc::StatusCode;

// A request, an entity or an update that was refused; nothing has changed. The text names the field.
class Failure : public std::runtime_error {
 public:
  Failure(Code code, const std::string& text) : std::runtime_error(text), code(code) {}

  Code code;
};

[[noreturn]] inline void refuse(Code code, const std::string& text) {
  throw Failure(code, text);
}

}  // namespace orrery::p4::service
