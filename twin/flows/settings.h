// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "flows/flow_source.h"

namespace orrery::flows {

// Of `orrery-flows generate`: the configuration of a flow generator (contract), and where it sends.
struct GenerateSettings {
  std::string interface;
  std::string gateway_mac;
  std::string address;  // IPv4 or IPv6
  uint16_t port;
  double duration_s;  // 0: until stopped
  SourceSettings source;
};

struct SinkSettings {
  std::string interface;
  uint16_t port;
};

// Throw EngineError with a pointer to what is wrong.
GenerateSettings generate_settings(const nlohmann::json& settings);
SinkSettings sink_settings(const nlohmann::json& settings);

}  // namespace orrery::flows
