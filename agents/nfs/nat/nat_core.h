// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nfs/nf_core.h"

namespace orrery::nat {

// Source NAT with port translation and endpoint-independent mapping (RFC 4787 4.1) for TCP, UDP and ICMP queries; ICMP
// errors are translated with the header they quote (RFC 5508 4). Mode `dynamic` filters independently of the endpoint,
// `port-restricted` by its address and port (RFC 4787 5; of ICMP by its address): only who was sent to may answer.
// Packets that are not IPv4 pass; those of IPv6 are counted by themselves.
//
// Exported state has the peers too in mode `port-restricted`: {"peers": rows} (peers.h). After a change to that mode, a
// peer may answer again once the inside has sent to it.
std::unique_ptr<NfCore> make(const nlohmann::json& config, std::span<const MetadataField> metadata);

}  // namespace orrery::nat
