// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "nfs/bytestream/stream_log.h"
#include "nfs/nf_core.h"

namespace orrery::bytestream {

// What the log of a Bytestream holds at least, so that what one packet makes contiguous takes a quarter of it.
inline constexpr size_t kLeastLogBytes = 8u << 20;

// Largest `max_stream_bytes`, and the most that one packet makes contiguous.
inline constexpr uint32_t kMaxStreamBytes = 1u << 20;
inline constexpr size_t kMaxViewBytes = kMaxStreamBytes + 2 * UINT16_MAX;

// Reassembles each direction of TCP connections and fills in NfPacket::stream, which must be there. Passes every packet
// on at once: bytes whose predecessors are missing are copied and wait, and are in the view of the packet that makes
// them contiguous. Of bytes that come twice the first count. It has the form of an NF, but is none of the catalogue.
// The log outlives it. Throws ConfigError.
std::unique_ptr<NfCore> make(const nlohmann::json& config, StreamLog& log);

}  // namespace orrery::bytestream
