// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "nfs/crypto-tunnel/inbound_sessions.h"

namespace orrery::crypto_tunnel {

// What another instance must know of this one. Keys are in the configuration only.
struct Sessions {
  struct Received {
    uint32_t spi;  // 0: none
    ReplayWindow window;
  };

  uint32_t outbound_spi = 0;  // the last
  std::array<Received, InboundSessions::kKnown> inbound{};
};

nlohmann::json exported(const Sessions& sessions);

// Sessions are named for the time at which they begin, so one that is named for much later than `now_s` (since 1970)
// is none of this tunnel: it would leave no names, or close the tunnel to all that begin before. Throws ConfigError.
Sessions imported(const nlohmann::json& state, uint32_t now_s);

// By how much clocks of two ends may differ, and names may have run ahead where sessions begin faster than seconds
// pass.
inline constexpr uint32_t kMostAheadS = 30 * 86400;

}  // namespace orrery::crypto_tunnel
