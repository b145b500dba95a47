// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::crypto_tunnel {

// One end of an encrypted tunnel: ESP in tunnel mode (RFC 4303) with AES-CTR (RFC 3686) and HMAC-SHA-256-128 (RFC
// 4868), within UDP (RFC 3948) or not. ARP passes; whatever else is not encrypted where it must be is dropped.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::crypto_tunnel
