// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::sqli_detector {

// Searches the payload of each TCP segment to one of its ports for 32 SQL injection patterns and derives the attribute
// `verdict` (clean, attack) of each IPv4 packet. With `drop` an attack is dropped. A packet that is not searched is
// clean; what is not IPv4 has no verdict. Packets are searched one by one: a pattern that is split over two segments is
// not seen. There is no state of flows, so the exported state is {}.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::sqli_detector
