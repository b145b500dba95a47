// SPDX-License-Identifier: Apache-2.0
// What an operator sees of a NAT.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "nfs/nat/mappings.h"
#include "nfs/nat/nat_config.h"

namespace orrery::nat {

struct Counters {
  uint64_t imports_refused = 0;
  uint64_t translated_forward = 0;
  uint64_t translated_return = 0;
  uint64_t ipv6 = 0;
  uint64_t non_ip = 0;
};

struct Figures {
  FlowFigures flows;
  FlowFigures peers;
  Counters counters;
  std::array<std::array<uint32_t, kPortSpaces>, kMaxAddresses> free_ports;
};

nlohmann::json view_of(const Config& config, const std::vector<Mappings::Flow>& mappings, const Figures& figures,
                       size_t limit);

}  // namespace orrery::nat
