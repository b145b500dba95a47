// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::ddos_detector {

// Finds destinations to which many more SYNs than ACKs go and derives the attribute `verdict` (normal, attack) of each
// IP packet: a SYN to a flagged destination is an attack, all else is normal; what is not IP has no verdict. With
// `drop` attacks are dropped. Destinations are flagged and cleared at the end of each window, which is noticed at the
// first batch behind it; the first window begins with the first batch.
//
// Exported state: {"window_age_ms": age, "counters": [[dst, count, 1 when a destination is flagged, flagged dst],
// ...]}, counters of 0 without a flag left out; IPv4 addresses are numbers, the place of a counter follows from its
// dst. Import adds counters, and takes over the age of the window where none has begun.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::ddos_detector
