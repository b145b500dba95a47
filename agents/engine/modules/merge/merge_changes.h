// SPDX-License-Identifier: Apache-2.0
// Merges what several branches changed in their copies of a packet (HydraNF 6.5.1).
#pragma once

#include <cstdint>
#include <span>

namespace orrery {

// Where a branch inserts or removes bytes (contract: ResizedAt).
enum class ResizedAt : uint8_t { kNone, kL3, kL4, kPayload, kEnd };

// Makes `merged`, the copy of one branch, the merged frame: what the `others` changed in `original` is xored into it.
// The two MAC addresses stay those of `merged`. Checksums of IPv4, TCP, UDP, ICMP and ICMPv6 are added up instead (RFC
// 1624), so they become what changes one after the other make of them, including a UDP checksum that is absent.
//
// `merged` may be longer or shorter than `original`, by bytes at `resized_at`; `others` must be as long. The place is
// found in the shorter of the two frames: bytes were inserted before its header of that name, or removed from there.
// False, and nothing is changed: the lengths do not fit, or the place cannot be found.
bool merge_changes(std::span<uint8_t> merged, std::span<const uint8_t> original,
                   std::span<const std::span<const uint8_t>> others, ResizedAt resized_at);

}  // namespace orrery
