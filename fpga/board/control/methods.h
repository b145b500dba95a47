// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "board/board.h"
#include "board/control/mailbox.h"

namespace orrery::board {

// The task that the board's thread must run for a request. The task refers to `params`. Throws EngineError for an
// unknown method; the task throws EngineError for bad params and if the board's state does not allow it.
Mailbox::Task find_method(Board& board, const std::string& method, const nlohmann::json& params);

}  // namespace orrery::board
