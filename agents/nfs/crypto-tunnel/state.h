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

// Throws ConfigError.
Sessions imported(const nlohmann::json& state);

}  // namespace orrery::crypto_tunnel
