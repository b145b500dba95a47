// SPDX-License-Identifier: Apache-2.0
#include "board/control/control.h"

#include <new>
#include <system_error>

#include "board/control/methods.h"
#include "support/json_fields.h"

namespace orrery::board {
namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";

json error_response(const json& id, std::string_view code, const std::string& detail, const std::string& pointer = {}) {
  return {
      {"id", id},
      {"error", {{"code", code}, {"detail", detail}, {"pointer", pointer.empty() ? json(nullptr) : json(pointer)}}}};
}

}  // namespace

json answer(Board& board, const json& request) {
  json id = nullptr;
  if (request.is_object() && request.contains("id") && request["id"].is_number_integer()) id = request["id"];
  // Only params have pointers.
  try {
    JsonFields fields(request, "", kBad);
    if (id.is_null()) throw EngineError(kBad, "", "id must be an integer");
    fields.required("id");
    const json* method = fields.optional("method");
    if (method == nullptr || !method->is_string()) throw EngineError(kBad, "", "method must be a string");
    const json* params = fields.optional("params");
    if (params == nullptr || !params->is_object()) throw EngineError(kBad, "", "params must be an object");
    if (request.size() != 3) throw EngineError(kBad, "", "a request has id, method and params and nothing else");
    const Mailbox::Task task = find_method(board, method->get<std::string>(), *params);
    return {{"id", id}, {"result", board.mailbox().call(task)}};
  } catch (const EngineError& error) {
    return error_response(id, error.code, error.what(), error.pointer);
  } catch (const ImageError& error) {
    return error_response(id, "image-refused", error.what(), "/image");
  } catch (const std::system_error& error) {
    return error_response(id, "unreadable", error.what());
  } catch (const std::bad_alloc&) {
    return error_response(id, "out-of-memory", "no memory for this request");
  } catch (const std::exception& error) {
    return error_response(id, "internal", error.what());
  }
}

}  // namespace orrery::board
