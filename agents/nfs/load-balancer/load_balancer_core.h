// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::load_balancer {

// Spreads the connections to a virtual address over back ends, of IPv4 or IPv6 by its configuration. A new connection
// goes to the back end that Maglev's table has for its 5-tuple (maglev.h), or, where that one takes none, to the first
// that does at the positions to which the hash is hashed on; so instances with the same configuration choose alike, and
// a back end that fails or drains moves no connections but its own. A connection that has been answered keeps its back
// end while that one is not `down`; others leave a port of it that fails (service_health.h). What is not sent to the
// virtual address passes.
//
// Mode `nat` writes the back end's address over the virtual one, and an external address and port of the NF's own over
// the client's, because replies find back by external addresses only (docs/architecture.md, Life of a packet). Replies
// and ICMP errors about them are restored. Mode `direct` writes nothing: the choice is the attribute `backend`, on
// which edges of the chain branch; replies do not come by, so back ends are judged by `state` alone.
//
// Exported state: {"flows": [[src, dst, src port, dst port, proto, back end's address, its port, external address,
// external port, state, idle ms], ...]}, youngest first. In direct mode external address and port are 0. Import takes
// connections whose back end and external port are to be had here.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::load_balancer
