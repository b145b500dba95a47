// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "flows/settings.h"

namespace orrery::flows {

// Takes `{metrics, detail}` of a program: once a second, and at its end.
using Report = std::function<void(const nlohmann::json& metrics, const std::string& detail)>;

// Sends until its time is up or `stop`, and then the last packets of the flows in progress. Throws std::runtime_error
// where it cannot begin.
void generate(const GenerateSettings& settings, const std::atomic<bool>& stop, const Report& report);

}  // namespace orrery::flows
