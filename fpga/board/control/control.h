// SPDX-License-Identifier: Apache-2.0
// The control protocol of a board: one JSON object per line, {id, method, params} -> {id, result} or {id, error: {code,
// detail, pointer}}.
#pragma once

#include <nlohmann/json.hpp>

#include "board/board.h"

namespace orrery::board {

// Answers a request. On any thread but the board's, which must be running. Never throws for a bad request.
nlohmann::json answer(Board& board, const nlohmann::json& request);

}  // namespace orrery::board
