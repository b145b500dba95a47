// SPDX-License-Identifier: Apache-2.0
// A second, plain reading of a frame to hold parse_packet() against.
#pragma once

#include <span>
#include <string>

#include "support/packet.h"

namespace orrery::testing {

// What the headers of a frame say, read with bounds checks from the front to the back.
ParsedPacket reference_parse(std::span<const uint8_t> frame);

// In which members two results differ, those that have a meaning; empty when in none.
std::string difference(const ParsedPacket& a, const ParsedPacket& b);

}  // namespace orrery::testing
