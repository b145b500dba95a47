// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

#include "board/board.h"
#include "board/control/control.h"
#include "support/end_signals.h"
#include "support/heartbeat_server.h"
#include "support/json_line_server.h"

namespace {

using orrery::board::Board;
using orrery::board::BoardOptions;

constexpr const char* kUsage =
    "usage: boardd --id NAME --profile FILE --library DIR --images-key FILE --control SOCKET --events SOCKET "
    "[options]\n"
    "\n"
    "Emulates an FPGA board, clock cycle by clock cycle. Starting it is power-on, killing it is a power failure.\n"
    "\n"
    "  --id NAME           name of the board\n"
    "  --profile FILE      device profile\n"
    "  --library DIR       slot modules that it can run\n"
    "  --images-key FILE   public key that images must be signed with (PEM, Ed25519)\n"
    "  --control SOCKET    unix socket for requests, one JSON object per line (path of at most 102 bytes);\n"
    "                      heartbeats at SOCKET.beat\n"
    "  --events SOCKET     unix socket that sends events, one JSON object per line, to all clients\n"
    "  --port SLOT:SIDE=IF near or far port of a slot on a network interface, such as 0:near=eth1; at most once each\n"
    "  --time-scale X      wall-clock seconds per modelled second of loading (default 1)\n"
    "  --help              this text\n";

bool parse_port(std::string_view text, BoardOptions& options) {
  const size_t colon = text.find(':'), equals = text.find('=');
  if (colon != 1 || equals == std::string_view::npos || equals + 1 == text.size()) return false;
  const std::string_view side = text.substr(2, equals - 2);
  if (text[0] < '0' || text[0] > '9' || (side != "near" && side != "far")) return false;
  options.ports.push_back({static_cast<size_t>(text[0] - '0'),
                           side == "near" ? orrery::board::kNear : orrery::board::kFar,
                           std::string(text.substr(equals + 1))});
  return true;
}

bool parse_scale(std::string_view text, double& scale) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  return error == std::errc{} && end == text.data() + text.size() && scale >= 1e-6 && scale <= 1000;
}

// What is wrong with the command line; empty if nothing is.
std::string parse_options(int argc, char** argv, BoardOptions& options, bool& help) {
  static constexpr option kLong[] = {
      {"id", required_argument, nullptr, 'i'},      {"profile", required_argument, nullptr, 'p'},
      {"library", required_argument, nullptr, 'l'}, {"images-key", required_argument, nullptr, 'k'},
      {"control", required_argument, nullptr, 'c'}, {"events", required_argument, nullptr, 'e'},
      {"port", required_argument, nullptr, 'P'},    {"time-scale", required_argument, nullptr, 't'},
      {"help", no_argument, nullptr, 'h'},          {nullptr, 0, nullptr, 0},
  };
  for (int c = 0; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    switch (c) {
      case 'i':
        options.id = value;
        break;
      case 'p':
        options.profile = value;
        break;
      case 'l':
        options.library = value;
        break;
      case 'k':
        options.images_key = value;
        break;
      case 'c':
        options.control = value;
        break;
      case 'e':
        options.events = value;
        break;
      case 'P':
        if (!parse_port(value, options)) return "--port must be SLOT:near=INTERFACE or SLOT:far=INTERFACE";
        break;
      case 't':
        if (!parse_scale(value, options.time_scale)) return "--time-scale must be a number from 0.000001 to 1000";
        break;
      case 'h':
        help = true;
        return {};
      default:
        return "unknown option";
    }
  }
  if (optind != argc) return std::string("unexpected argument ") + argv[optind];
  for (const auto& [name, given] : {std::pair("--id", &options.id),
                                    {"--profile", &options.profile},
                                    {"--library", &options.library},
                                    {"--images-key", &options.images_key},
                                    {"--control", &options.control},
                                    {"--events", &options.events}})
    if (given->empty()) return std::string(name) + " is required";
  return {};
}

void serve(const BoardOptions& options) {
  Board board(options);
  orrery::JsonLineServer server({.path = options.control},
                                [&](const nlohmann::json& request) { return orrery::board::answer(board, request); });
  orrery::HeartbeatServer heartbeat(options.control);
  const orrery::EndSignals signals([&] { board.stop(); });
  heartbeat.start();
  std::printf("boardd %s: %s serves %s\n", options.id.c_str(), board.profile().title.c_str(), options.control.c_str());
  std::fflush(stdout);
  std::thread control([&] { server.run(); });
  board.run();
  server.stop();
  control.join();
}

}  // namespace

int main(int argc, char** argv) {
  BoardOptions options;
  bool help = false;
  if (const std::string problem = parse_options(argc, argv, options, help); !problem.empty()) {
    std::fprintf(stderr, "boardd: %s\n%s", problem.c_str(), kUsage);
    return 2;
  }
  if (help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    serve(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "boardd: %s\n", error.what());
    return 1;
  }
}
