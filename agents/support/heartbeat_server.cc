// SPDX-License-Identifier: Apache-2.0
#include "support/heartbeat_server.h"

#include "support/errors.h"
#include "support/request.h"

namespace orrery {

namespace {

using nlohmann::json;

json answer_heartbeat(const json& request) {
  return answer_request(request, [](const std::string& method, const json&) -> json {
    if (method == "heartbeat") return json::object();
    throw EngineError("bad-request", "", "there is no method " + method + " here");
  });
}

}  // namespace

std::string heartbeat_path(const std::string& control_path) {
  return control_path + ".beat";
}

HeartbeatServer::HeartbeatServer(const std::string& control_path)
    : server_({.path = heartbeat_path(control_path), .line_limit_bytes = 4096, .max_clients = 16}, answer_heartbeat) {}

HeartbeatServer::~HeartbeatServer() {
  server_.stop();
  if (thread_.joinable()) thread_.join();
}

void HeartbeatServer::start() {
  thread_ = std::thread([this] { server_.run(); });
}

}  // namespace orrery
