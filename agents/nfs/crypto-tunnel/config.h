// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "nfs/crypto-tunnel/frame.h"
#include "nfs/crypto-tunnel/session.h"
#include "nfs/nf_core.h"

namespace orrery::crypto_tunnel {

struct Config {
  Tunnel tunnel;
  Direction protects;  // packets of this direction leave encrypted, those of the other come so
  Encapsulation encapsulation;
  Acceleration acceleration;
  uint32_t mtu;  // of the packets that leave encrypted
  bool clamp_mss;
  uint32_t session_packets;
};

// Throws ConfigError, which never quotes the key.
Config read_config(const nlohmann::json& value);

}  // namespace orrery::crypto_tunnel
