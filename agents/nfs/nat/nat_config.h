// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "nfs/flow_store.h"

namespace orrery::nat {

inline constexpr size_t kMaxAddresses = 16;

struct Config {
  std::vector<uint32_t> addresses;
  uint16_t port_lo;
  uint16_t port_hi;
  bool port_restricted;
  FlowLimits flows;
  FlowLimits peers;  // room for one where they are not kept

  bool operator==(const Config&) const = default;
};

// Throws ConfigError.
Config read_config(const nlohmann::json& value);

}  // namespace orrery::nat
