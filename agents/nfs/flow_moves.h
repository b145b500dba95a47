// SPDX-License-Identifier: Apache-2.0
// Requests by which flows move from one instance of an NF to another (contract: EngineRequest): the same for the engine
// and for an NF by itself.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "nfs/nf_core.h"
#include "support/json_fields.h"

namespace orrery {

// Calls its argument again and again, each time while the worker is parked, until it returns false.
using Slices = std::function<void(const std::function<bool()>&)>;

// `export_flows`: the next portion of the selected flows. Throws EngineError.
nlohmann::json export_flows(NfCore& nf, JsonFields& params, const Slices& slices);

// `release_flows`: removes the selected flows of a portion that nobody has used since. Throws EngineError.
nlohmann::json release_flows(NfCore& nf, JsonFields& params, const Slices& slices);

// `import_state`. Throws EngineError and has changed nothing when the state is bad.
nlohmann::json import_state(NfCore& nf, JsonFields& params, const Slices& slices);

}  // namespace orrery
