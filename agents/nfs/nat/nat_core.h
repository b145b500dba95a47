// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::nat {

// Source NAT with port translation and endpoint-independent mapping and filtering (RFC 4787 4.1, 5) for TCP, UDP and
// ICMP queries; ICMP errors are translated with the header they quote (RFC 5508 4). Packets that are not IPv4 pass.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::nat
