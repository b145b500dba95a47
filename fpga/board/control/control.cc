// SPDX-License-Identifier: Apache-2.0
#include "board/control/control.h"

#include <system_error>

#include "board/control/methods.h"
#include "support/errors.h"
#include "support/request.h"

namespace orrery::board {

using nlohmann::json;

json answer(Board& board, const json& request) {
  return answer_request(request, [&](const std::string& method, const json& params) {
    try {
      return board.mailbox().call(find_method(board, method, params));
    } catch (const ImageError& error) {
      throw EngineError("image-refused", "/image", error.what());
    } catch (const std::system_error& error) {
      throw EngineError("unreadable", "", error.what());
    }
  });
}

}  // namespace orrery::board
