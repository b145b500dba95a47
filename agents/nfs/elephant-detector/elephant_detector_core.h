// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::elephant_detector {

// Derives the attribute `size` (mouse, elephant) of each sound IP packet; others have none. A flow that carries
// `threshold_bytes` of IP packets within a window is an elephant from that packet on until it is idle for
// `idle_timeout_s`. A window of a flow begins with the first packet behind the window before. A return packet counts
// for the flow of the exchanged 5-tuple. Nothing is dropped.
//
// Exported state: {"flows": [[src, dst, src port, dst port, proto, bytes in its window, 1 for an elephant, ms since its
// window began, idle ms], ...]}, youngest first, at most kMaxExportedFlows; IPv4 addresses are numbers. Import keeps
// what is there, and of all the youngest.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::elephant_detector
