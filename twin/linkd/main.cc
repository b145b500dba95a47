// SPDX-License-Identifier: Apache-2.0
// orrery-linkd: emulates delay, jitter, loss, rate and queue on links between interfaces of its network namespace.
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "linkd/control.h"
#include "linkd/pump.h"
#include "support/end_signals.h"
#include "support/json_line_server.h"
#include "support/request.h"

namespace {

constexpr char kUsage[] = "usage: orrery-linkd --control SOCKET\n";

void serve(const char* socket) {
  orrery::linkd::Pump pump;
  orrery::JsonLineServer server({.path = socket}, [&](const nlohmann::json& request) {
    return orrery::answer_request(request, [&](const std::string& method, const nlohmann::json& params) {
      return orrery::linkd::handle(pump, method, params);
    });
  });
  const orrery::EndSignals signals([&] { server.stop(); });
  // Without its forwarding thread, the process is useless.
  std::thread frames([&] { pump.run(); });
  server.run();
  pump.stop();
  frames.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--control") != 0) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    serve(argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery-linkd: %s\n", error.what());
    return 1;
  }
  return 0;
}
