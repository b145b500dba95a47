// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::firewall {

// Stateless packet filter: the first rule that matches decides, else the default action. Packets that are not IP
// pass.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::firewall
