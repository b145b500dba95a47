// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace orrery {

// Result of a method. Throws EngineError, with a pointer into `params`, for a request that it refuses.
using RequestHandler = std::function<nlohmann::json(const std::string& method, const nlohmann::json& params)>;

// Answers one EngineRequest with an EngineResponse (contract). Never throws for anything that is wrong with the
// request.
nlohmann::json answer_request(const nlohmann::json& request, const RequestHandler& call);

}  // namespace orrery
