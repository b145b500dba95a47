// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "core/engine.h"

namespace orrery::bench {

// What NFs save by what they tell each other through the engine (E2 3.6.1): metadata beside a header field (Table 3.2),
// a stream that is reassembled once (Figure 3.6), and a verdict on a URL beside a second parser (Figure 3.7).
// Each result is {"comparison", "form", "bytes", "cycles"}: cycles per packet of full batches, medians, beyond those of
// making and freeing the packets.
void native_api(const Eal& eal, const std::function<void(const nlohmann::json& result)>& show);

}  // namespace orrery::bench
