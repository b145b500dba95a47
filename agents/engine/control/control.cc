// SPDX-License-Identifier: Apache-2.0
#include "control/control.h"

#include "support/json_fields.h"
#include "support/request.h"

namespace orrery {

namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";

json call(Engine& engine, const std::string& method, const json& params, const std::function<void()>& shutdown) {
  if (method == "apply") {
    engine.apply(params);
    return {{"graph_digest", engine.graph_digest()}};
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

}  // namespace

json answer(Engine& engine, const json& request, const std::function<void()>& shutdown) {
  return answer_request(
      request, [&](const std::string& method, const json& params) { return call(engine, method, params, shutdown); });
}

}  // namespace orrery
