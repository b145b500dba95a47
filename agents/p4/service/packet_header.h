// SPDX-License-Identifier: Apache-2.0
// Headers between controller and switch (P4Runtime 17.1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "p4/service/catalogue.h"

namespace orrery::p4::service {

class PacketHeader {
 public:
  explicit PacketHeader(PacketHeaderSpec spec) : spec_(std::move(spec)) {}

  // The frame that enters the pipeline. Throws Failure with INVALID_ARGUMENT, which names the metadata field.
  std::vector<uint8_t> frame_of(const pb::PacketOut& packet) const;

  // Nothing where the frame is shorter than the header.
  std::optional<pb::PacketIn> packet_of(std::span<const uint8_t> head, std::span<const uint8_t> payload) const;

 private:
  PacketHeaderSpec spec_;
};

}  // namespace orrery::p4::service
