// SPDX-License-Identifier: Apache-2.0
// Control server: one JSON object a line, request and response, over a unix stream socket.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace orrery {

struct JsonLineServerOptions {
  std::string path;                                   // at most 107 bytes; created with mode 0600
  size_t line_limit_bytes = size_t{4} * 1024 * 1024;  // of a request and of a response, without the newline
  size_t max_clients = 16;                            // further connections are closed at once
};

// Answers of the server itself have the form of EngineResponse (contract) with code `bad-request` or `internal`:
// not JSON, not an object, line too long (the connection is then closed), handler threw, response too long.
// While a client does not read its responses, its requests wait in the kernel; memory a client is bounded by two lines.
class JsonLineServer {
 public:
  // Returns the whole response object. Called on the thread of run(), one request at a time.
  using Handler = std::function<nlohmann::json(const nlohmann::json& request)>;

  // Listens at once. A socket file that nobody serves is replaced. Throws std::system_error, std::invalid_argument.
  JsonLineServer(JsonLineServerOptions options, Handler handler);
  ~JsonLineServer();
  JsonLineServer(const JsonLineServer&) = delete;
  JsonLineServer& operator=(const JsonLineServer&) = delete;

  // Serves on the calling thread until stop(); responses that are ready are still sent, for at most one second.
  void run();

  // From any thread, from the handler and from a signal handler; also before run().
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orrery
