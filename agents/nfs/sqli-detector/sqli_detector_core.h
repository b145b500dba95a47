// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::sqli_detector {

// Searches the payload of each TCP segment to one of its ports for 32 SQL injection patterns and derives the attribute
// `verdict` (clean, attack) of each IP packet. With `drop` an attack is dropped. A packet that is not searched is
// clean; what is not IP has no verdict. Packets are searched one by one, and a pattern that is split over two segments
// is not seen; with `inspect` `streams` they are searched across segments (PayloadSearch), and the packet that
// completes a pattern is an attack. With `drop` its stream is then blocked: all that is sent in it afterwards is
// dropped as `blocked`, because it would be sent again until it arrives. Streams do not move, so the exported state is
// {}.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::sqli_detector
