// SPDX-License-Identifier: Apache-2.0
#include "control/control.h"

#include "nfs/flow_moves.h"
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
    return engine.move_flows(fields.id("module"), fields, import_state);
  }
  if (method == "export_flows") {
    return engine.move_flows(fields.id("module"), fields, export_flows);
  }
  if (method == "release_flows") {
    return engine.move_flows(fields.id("module"), fields, release_flows);
  }
  if (method == "configure") {
    const std::string module = fields.id("module");
    const json& config = fields.object("config");
    fields.done();
    return engine.configure(module, config);
  }
  if (method == "set_split") {
    const std::string module = fields.id("module");
    const json& ranges = fields.required("ranges");
    const bool keep_flows = fields.boolean_or("keep_flows", false);
    fields.done();
    return engine.set_split(module, ranges, keep_flows);
  }
  if (method == "hold_flows") {
    return engine.hold_flows(fields.id("module"), fields);
  }
  if (method == "end_hold") {
    const std::string module = fields.id("module");
    const bool steer = fields.boolean_or("steer", false);
    fields.done();
    return engine.end_hold(module, steer);
  }
  if (method == "get_split") {
    const std::string module = fields.id("module");
    const auto limit = static_cast<size_t>(fields.integer_or("limit", 0, 10'000, 0));
    fields.done();
    return engine.get_split(module, limit);
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
