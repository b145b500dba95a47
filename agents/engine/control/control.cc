// SPDX-License-Identifier: Apache-2.0
#include "control/control.h"

#include <new>

#include "core/json_fields.h"

namespace orrery {

namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";

json call(Engine& engine, const std::string& method, const json& params, const std::function<void()>& shutdown) {
  if (method == "apply") {
    engine.apply(params);
    return json::object();
  }
  JsonFields fields(params, "", kBad);
  if (method == "describe") {
    fields.done();
    return engine.describe();
  }
  if (method == "stats") {
    fields.done();
    return engine.stats();
  }
  if (method == "get_state") {
    const std::string module = fields.id("module");
    const auto limit = static_cast<size_t>(fields.integer_or("limit", 1, 100'000, 1000));
    fields.done();
    return engine.get_state(module, limit);
  }
  if (method == "export_state") {
    const std::string module = fields.id("module");
    fields.done();
    return engine.export_state(module);
  }
  if (method == "import_state") {
    const std::string module = fields.id("module");
    const json& state = fields.object("state");
    fields.done();
    engine.import_state(module, state);
    return json::object();
  }
  if (method == "shutdown") {
    fields.done();
    shutdown();
    return json::object();
  }
  throw EngineError(kBad, "", "there is no method " + method);
}

json error_response(const json& id, std::string_view code, const std::string& detail, const json& pointer) {
  return {{"id", id}, {"error", {{"code", code}, {"detail", detail}, {"pointer", pointer}}}};
}

}  // namespace

json answer(Engine& engine, const json& request, const std::function<void()>& shutdown) {
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
    json result = call(engine, method->get<std::string>(), *params, shutdown);
    return {{"id", id}, {"result", std::move(result)}};
  } catch (const EngineError& error) {
    return error_response(id, error.code, error.what(), error.pointer.empty() ? json(nullptr) : json(error.pointer));
  } catch (const std::bad_alloc&) {
    return error_response(id, "out-of-memory", "no memory for this request", nullptr);
  } catch (const std::exception& error) {
    return error_response(id, "internal", error.what(), nullptr);
  }
}

}  // namespace orrery
