// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <exception>
#include <new>
#include <optional>
#include <vector>

#include "p4/service/failure.h"

namespace orrery::p4::service {

// The status of a Write with the outcome of each update (P4Runtime 1.4, 12.3).
::grpc::Status write_status(const std::vector<std::optional<Failure>>& failures);

// Runs an RPC; what it throws becomes its status.
template <typename Work>
::grpc::Status guarded(Work&& work) {
  try {
    return work();
  } catch (const Failure& failure) {
    return {failure.code, failure.what()};
  } catch (const std::bad_alloc&) {
    return {Code::RESOURCE_EXHAUSTED, "no memory for this request"};
  } catch (const std::exception& error) {
    return {Code::INTERNAL, error.what()};
  }
}

}  // namespace orrery::p4::service
