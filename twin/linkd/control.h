// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "linkd/pump.h"

namespace orrery::linkd {

// `set-links` {links: [{id, a, b, rate_bps, delay_us, jitter_us, loss, queue_bytes}]}: replaces the set of links;
// answers like `get-links`. `get-links` {}: {links: [{id, failure, a_to_b, b_to_a}]} with counters per direction.
// Throws EngineError for a request that it refuses; nothing has changed then.
nlohmann::json handle(Pump& pump, const std::string& method, const nlohmann::json& params);

}  // namespace orrery::linkd
