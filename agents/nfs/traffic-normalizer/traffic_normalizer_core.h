// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::traffic_normalizer {

// Takes out of IPv4 and IPv6 packets what receivers and detectors may read differently (Handley, Paxson, Kreibich,
// USENIX Security 2001), before a detector sees them. What it finds and what it does about each is in findings.h; of
// fragments that overlap the first one stays (fragments.h). What is dropped is not written to; lengths never change.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::traffic_normalizer
