// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <thread>

#include "box/arguments.h"
#include "box/control.h"
#include "box/frame_pump.h"
#include "box/hold.h"
#include "box/instance.h"
#include "box/privileges.h"
#include "nfs/registry.h"
#include "support/json_line_server.h"
#include "support/request.h"

namespace orrery::box {
namespace {

JsonLineServer* g_server = nullptr;

void end_at_signals(JsonLineServer& server) {
  g_server = &server;
  struct sigaction action {};
  action.sa_handler = [](int) { g_server->stop(); };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// Tells one life of a box from the next.
std::string random_epoch() {
  std::random_device random;
  char text[17];
  std::snprintf(text, sizeof(text), "%08x%08x", random(), random());
  return text;
}

int report(const std::exception& error, int code) {
  std::fprintf(stderr, "orrery-nf-box: %s\n", error.what());
  return code;
}

// Opens the control socket and gives up root, so that no packet meets more rights than it needs. Serves until a signal,
// a `shutdown` request or the pump's end, whose fault is thrown.
void serve(const RunOptions& options, FramePump& pump, Control& control) {
  JsonLineServer* address = nullptr;
  JsonLineServer server({.path = options.control}, [&](const nlohmann::json& request) {
    return answer_request(request, [&](const std::string& method, const nlohmann::json& params) {
      return control.call(method, params, [&] { address->stop(); });
    });
  });
  address = &server;
  end_at_signals(server);
  give_up_privileges();
  std::exception_ptr fault;
  std::thread frames([&] {
    try {
      pump.run();
    } catch (...) {
      fault = std::current_exception();
    }
    server.stop();
  });
  std::puts("orrery-nf-box runs");
  std::fflush(stdout);
  server.run();
  pump.stop();
  frames.join();
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
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
}  // namespace orrery::box

int main(int argc, char** argv) {
  orrery::box::Arguments arguments;
  try {
    arguments = orrery::box::parse_arguments(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "orrery-nf-box: %s\n%s", error.what(), orrery::box::kUsage);
    return 2;
  }
  try {
    return orrery::box::execute(arguments);
  } catch (const std::exception& error) {
    return orrery::box::report(error, 1);
  }
}
