// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::static_nat {

// Gives each inside address an outside address of its own, whatever the traffic (RFC 3022 2.1, Basic NAT with a fixed
// table): source addresses on the way out, destination addresses on the way back, and in ICMP errors those of the
// packet that they quote. Of IPv4 and IPv6; ports stay, and fragments pass. Packets that carry their addresses under a
// checksum or signature that is not followed here (DCCP, UDP-Lite, AH) are dropped (RFC 3715 2), and so are those whose
// destination would be translated while a routing header leads elsewhere.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::static_nat
