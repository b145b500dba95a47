// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "core/engine.h"

namespace orrery {

// Answers one EngineRequest with an EngineResponse. `shutdown` is called when the request asks for the end. Never
// throws for anything that is wrong with the request.
nlohmann::json answer(Engine& engine, const nlohmann::json& request, const std::function<void()>& shutdown);

}  // namespace orrery
