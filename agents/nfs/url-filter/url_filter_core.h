// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::url_filter {

// Judges what clients ask web servers for, over TCP of IPv4 and IPv6: each HTTP/1.x request and each TLS ClientHello
// that begins with the payload of a packet. The first rule that matches decides, else the default action. A flow keeps
// its verdict in both directions until it begins anew or has been idle; a later request on a connection that was
// allowed may block it. What lies behind the first packet of a request is not seen, and QUIC is not looked into.
//
// Exported state: {"flows": [[src, dst, src port, dst port, proto, blocked, idle ms], ...]}, youngest first.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::url_filter
