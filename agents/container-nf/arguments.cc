// SPDX-License-Identifier: Apache-2.0
#include "container-nf/arguments.h"

#include <getopt.h>

#include <stdexcept>
#include <string_view>

namespace orrery::container_nf {
namespace {

RunOptions parse_run(int argc, char** argv) {
  static constexpr option kLong[] = {
      {"near", required_argument, nullptr, 'n'},
      {"far", required_argument, nullptr, 'f'},
      {"instance", required_argument, nullptr, 'i'},
      {"control", required_argument, nullptr, 'c'},
      {nullptr, 0, nullptr, 0},
  };
  RunOptions options;
  opterr = 0;
  for (int c = 0; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    switch (c) {
      case 'n':
        options.near = optarg;
        break;
      case 'f':
        options.far = optarg;
        break;
      case 'i':
        options.instance = optarg;
        break;
      case 'c':
        options.control = optarg;
        break;
      default:
        throw std::invalid_argument(std::string("unknown option, or one without its value: ") + argv[optind - 1]);
    }
  }
  if (optind != argc) throw std::invalid_argument(std::string("unexpected argument ") + argv[optind]);
  for (const auto& [name, value] : {std::pair{"--near", &options.near},
                                    {"--far", &options.far},
                                    {"--instance", &options.instance},
                                    {"--control", &options.control}})
    if (value->empty()) throw std::invalid_argument(std::string(name) + " is required");
  return options;
}

}  // namespace

const char* const kUsage =
    "usage: orrery-container-nf run --near IFACE --far IFACE --instance FILE --control SOCKET\n"
    "       orrery-container-nf hold\n"
    "       orrery-container-nf --nfs | --help\n"
    "\n"
    "Runs one network function between two interfaces of this network namespace.\n"
    "\n"
    "  run                waits for frames with hop tags; from near to far is forward, from far to near return\n"
    "  --near, --far      interfaces\n"
    "  --instance FILE    {\"nf\": NAME, \"config\": {...}, \"metadata\": {...}}\n"
    "  --control SOCKET   unix socket that is served: one JSON request a line (at most 102 bytes); heartbeats at\n"
    "                     SOCKET.beat\n"
    "  hold               does nothing until SIGTERM, to keep a network namespace alive\n"
    "  --nfs              print the NFs that it has as a JSON array\n"
    "  --help             this text\n"
    "\n"
    "Ends with 2 when the command line or the instance cannot be used, with 1 for what may be better next time.\n";

Arguments parse_arguments(int argc, char** argv) {
  if (argc < 2) throw std::invalid_argument("a command is required");
  const std::string_view command = argv[1];
  if (command == "run") return {Command::kRun, parse_run(argc - 1, argv + 1)};
  if (argc > 2) throw std::invalid_argument(std::string("unexpected argument ") + argv[2]);
  if (command == "hold") return {Command::kHold, {}};
  if (command == "--nfs") return {Command::kNfs, {}};
  if (command == "--help") return {Command::kHelp, {}};
  throw std::invalid_argument("there is no command " + std::string(command));
}

}  // namespace orrery::container_nf
