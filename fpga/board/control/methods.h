// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "board/board.h"
#include "board/control/mailbox.h"

namespace orrery::board {

// What the board's thread has to do for a request. The task refers to `params`. Throws EngineError for a method that
// does not exist; the task throws EngineError for params that are wrong and for what the board's state forbids.
Mailbox::Task find_method(Board& board, const std::string& method, const nlohmann::json& params);

}  // namespace orrery::board
