// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/state/bytes.h"
#include "support/state/resp_parser.h"
#include "support/state/store_address.h"

namespace orrery::state {

// Hash slots of a Redis cluster (Redis Cluster Specification).
inline constexpr uint16_t kSlots = 16'384;

// CRC-16/XMODEM.
uint16_t crc16(std::string_view bytes);

// Of the key's hash tag where it has one: what lies between the first { and the next }, unless that is nothing.
uint16_t slot_of(std::string_view key);

struct SlotRange {
  uint16_t first;
  uint16_t last;
  Endpoint master;
};

// The ranges of an answer to CLUSTER SLOTS. `asked`: who has answered; its host stands for a host that the answer
// leaves open. Nothing where the answer has another form, or names a host that is no address and gives none.
std::optional<std::vector<SlotRange>> read_slots(const RespValue& answer, const Endpoint& asked);

// Of an error `MOVED slot host:port` or `ASK slot host:port`.
struct Redirection {
  bool ask;
  uint16_t slot;
  Endpoint to;
};
std::optional<Redirection> read_redirection(std::string_view error, const Endpoint& asked);

}  // namespace orrery::state
