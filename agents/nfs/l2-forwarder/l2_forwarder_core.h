// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::l2_forwarder {

// Lets every packet through, with its MAC addresses swapped if so configured: the floor of what an NF costs.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::l2_forwarder
