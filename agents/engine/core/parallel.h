// SPDX-License-Identifier: Apache-2.0
// What mirrors, merges and the NFs between them agree on (contract: MAX_COPIES, NO_OP_INPUT).
#pragma once

#include <cstdint>

namespace orrery {

// Most copies that a mirror makes of a packet, and branches that a merge has.
constexpr uint8_t kMaxCopies = 15;

// Input of a merge that takes no-op packets.
constexpr uint8_t kNoOpInput = kMaxCopies;

// Gates for no-op packets.
constexpr uint8_t kNfNoOpGate = 2;
constexpr uint8_t kMergeNoOpGate = 1;

// A no-op packet keeps its Ethernet header and so much behind it.
constexpr uint16_t kNoOpBytes = 14 + 64;

}  // namespace orrery
