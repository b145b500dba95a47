// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::ids {

// Searches the payload of each IP packet for patterns and derives the attribute `verdict` (safe, unsafe). A packet
// with a hit is unsafe, with `sticky` the rest of its flow too; malformed packets are unsafe, non-IP is safe. Drops
// nothing. Packets are searched one by one, and a pattern that is split over two packets is not seen; with `inspect`
// `streams` TCP is searched across segments (PayloadSearch), and the packet that completes a pattern is unsafe.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::ids
