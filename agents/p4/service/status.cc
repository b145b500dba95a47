// SPDX-License-Identifier: Apache-2.0
#include "p4/service/status.h"

#include <algorithm>

#include "p4/service/messages.h"

namespace orrery::p4::service {
namespace {

// A status is metadata, of which clients take 8 KiB unless they say otherwise.
constexpr size_t kMostTexts = 50;
constexpr size_t kMostText = 400;

}  // namespace

::grpc::Status write_status(const std::vector<std::optional<Failure>>& failures) {
  if (std::ranges::none_of(failures, [](const auto& failure) { return failure.has_value(); }))
    return ::grpc::Status::OK;
  google::rpc::Status status;
  status.set_code(Code::UNKNOWN);
  status.set_message("some updates failed");
  size_t texts = 0;
  pb::Error ok;
  for (const auto& failure : failures) {
    pb::Error error;
    if (failure) {
      error.set_canonical_code(failure->code);
      error.set_space("orrery-v1model");
      if (texts++ < kMostTexts) error.set_message(std::string(failure->what()).substr(0, kMostText));
    }
    status.add_details()->PackFrom(error);
  }
  return {Code::UNKNOWN, status.message(), status.SerializeAsString()};
}

}  // namespace orrery::p4::service
