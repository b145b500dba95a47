// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

#include "container-nf/arguments.h"
#include "container-nf/control.h"
#include "container-nf/frame_pump.h"
#include "container-nf/hold.h"
#include "container-nf/instance.h"
#include "container-nf/privileges.h"
#include "nfs/registry.h"
#include "support/end_signals.h"
#include "support/epoch.h"
#include "support/heartbeat_server.h"
#include "support/json_line_server.h"
#include "support/request.h"

namespace orrery::container_nf {
namespace {

int report(const std::exception& error, int code) {
  std::fprintf(stderr, "orrery-container-nf: %s\n", error.what());
  return code;
}

// Opens its sockets and gives up root, so that no packet meets more rights than it needs. Serves until a signal,
// a `shutdown` request or the pump's end, whose fault is thrown.
void serve(const RunOptions& options, FramePump& pump, Control& control) {
  JsonLineServer* address = nullptr;
  JsonLineServer server({.path = options.control}, [&](const nlohmann::json& request) {
    return answer_request(request, [&](const std::string& method, const nlohmann::json& params) {
      return control.call(method, params, [&] { address->stop(); });
    });
  });
  address = &server;
  HeartbeatServer heartbeat(options.control);
  const EndSignals signals([&] { server.stop(); });
  give_up_privileges();
  heartbeat.start();
  std::exception_ptr fault;
  std::thread frames([&] {
    try {
      pump.run();
    } catch (...) {
      fault = std::current_exception();
    }
    server.stop();
  });
  std::puts("orrery-container-nf runs");
  std::fflush(stdout);
  server.run();
  pump.stop();
  frames.join();
  if (fault) std::rethrow_exception(fault);
}

int run(const RunOptions& options) {
  Loaded loaded;
  try {
    loaded = load_instance(options.instance);
  } catch (const std::exception& error) {
    return report(error, 2);
  }
  FramePump pump(std::move(loaded.nf), options.near, options.far);
  Control control(pump, std::move(loaded.instance), random_epoch());
  serve(options, pump, control);
  return 0;
}

int execute(const Arguments& arguments) {
  switch (arguments.command) {
    case Command::kHelp:
      std::fputs(kUsage, stdout);
      return 0;
    case Command::kNfs: {
      const auto kinds = nf_kinds();
      std::printf("%s\n", nlohmann::json(std::vector(kinds.begin(), kinds.end())).dump().c_str());
      return 0;
    }
    case Command::kHold:
      hold();
      return 0;
    case Command::kRun:
      return run(arguments.run);
  }
  return 2;
}

}  // namespace
}  // namespace orrery::container_nf

int main(int argc, char** argv) {
  orrery::container_nf::Arguments arguments;
  try {
    arguments = orrery::container_nf::parse_arguments(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "orrery-container-nf: %s\n%s", error.what(), orrery::container_nf::kUsage);
    return 2;
  }
  try {
    return orrery::container_nf::execute(arguments);
  } catch (const std::exception& error) {
    return orrery::container_nf::report(error, 1);
  }
}
