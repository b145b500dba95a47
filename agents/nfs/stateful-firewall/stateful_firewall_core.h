// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::stateful_firewall {

// Lets TCP connections through that its rules allow to open, and of other protocols, and of TCP fragments behind the
// first, every packet that they allow. What is not IP passes. The states of a connection are those of tcp_states.h; a
// return packet belongs to the connection of the exchanged 5-tuple. When all flows are in use a new connection takes
// the place of the one idle longest among those that are being opened or closed; when there is none, it is dropped.
//
// Exported state: {"flows": [[src, dst, src port, dst port, proto, state, idle ms], ...]}, youngest first, at most
// kMaxExportedFlows; IPv4 addresses are numbers, state is a TcpState from 1 on. Import keeps what is there, and of all
// the youngest.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::stateful_firewall
