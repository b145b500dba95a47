// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "flows/generate.h"
#include "flows/settings.h"

namespace orrery::flows {

// Counts what arrives until `stop`. Throws std::runtime_error where it cannot begin.
void sink(const SinkSettings& settings, const std::atomic<bool>& stop, const Report& report);

}  // namespace orrery::flows
