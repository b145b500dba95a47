// SPDX-License-Identifier: Apache-2.0
// Modules that do what no shipped module does: make packets, keep all packets over passes, join many inputs, cost what
// is asked, write fields that no NF writes, change the length of packets.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/module.h"

namespace orrery::testing {

// {"copies": n}: emits each packet and n copies of it out of gate 0.
extern const ModuleKind kDuplicator;

// {"hold_ms": t}: keeps packets until t after the first of them came, then emits them all.
extern const ModuleKind kHolder;

// Three inputs; emits what came in at input 2 first, then input 1, then input 0, once each of them has brought a
// packet.
extern const ModuleKind kJoiner;

// {"spins": n}: passes everything on after n turns of a loop for each packet.
extern const ModuleKind kBurner;

// {"batches": n}: makes n full batches, then one of a single packet, over and over.
extern const ModuleKind kBursts;

// {"field": f}: changes a field of each packet that has it: ttl, tos, dst, dst_port or payload (its last byte). Updates
// checksums incrementally (RFC 1624), and leaves a UDP checksum of 0 alone. Has a gate 2, as an NF does, and never uses
// it.
extern const ModuleKind kFieldWriter;

// {"at": l3, l4, payload or end, "bytes": n}: inserts bytes, or removes them where n is below 0: a VLAN tag, IP
// options, zeros before or behind the payload. Lengths and checksums follow. Fragments, IPv6 and what is no
// TCP, UDP or ICMP stay as they are.
extern const ModuleKind kResizer;

// What kFieldWriter and kResizer do.
void write_field(std::span<uint8_t> frame, std::string_view field);
void resize_frame(std::vector<uint8_t>& frame, std::string_view at, int bytes);

}  // namespace orrery::testing
