// SPDX-License-Identifier: Apache-2.0
#include "p4/switch/arguments.h"

#include <getopt.h>

#include <charconv>
#include <set>
#include <stdexcept>

#include "p4/service/server.h"

namespace orrery::p4 {
namespace {

constexpr size_t kMostAddresses = 4;
constexpr size_t kMostInterfaceName = 15;

uint64_t number(const std::string& text, const char* option, uint64_t lowest, uint64_t highest) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty() || value < lowest || value > highest)
    throw std::invalid_argument(std::string(option) + " must be " + std::to_string(lowest) + " to " +
                                std::to_string(highest));
  return value;
}

PortConfig port_of(const std::string& text) {
  const size_t at = text.find('@');
  if (at == std::string::npos || at + 1 == text.size() || text.size() - at - 1 > kMostInterfaceName)
    throw std::invalid_argument("--port must be NUMBER@INTERFACE");
  const auto port = static_cast<uint32_t>(number(text.substr(0, at), "the number of --port", 0, kPortNumbers - 1));
  return {port, std::to_string(port), text.substr(at + 1)};
}

void check(const Arguments& arguments) {
  if (arguments.device_id == 0) throw std::invalid_argument("--device-id is required");
  if (arguments.p4runtime.empty()) throw std::invalid_argument("--p4runtime is required");
  if (arguments.p4runtime.size() > kMostAddresses) throw std::invalid_argument("--p4runtime may be given 4 times");
  for (const std::string& address : arguments.p4runtime) service::check_address(address);
  if (arguments.control.empty()) throw std::invalid_argument("--control is required");
  if (arguments.program.empty() != arguments.p4info.empty())
    throw std::invalid_argument("--program and --p4info belong together");
  if (arguments.cpu_port == arguments.drop_port) throw std::invalid_argument("--cpu-port is the drop port");
  std::set<uint32_t> numbers{arguments.cpu_port, arguments.drop_port};
  std::set<std::string> interfaces;
  for (const PortConfig& port : arguments.ports) {
    if (!numbers.insert(port.number).second)
      throw std::invalid_argument("--port " + port.name + " is there twice, or the CPU port, or the drop port");
    if (!interfaces.insert(port.interface).second)
      throw std::invalid_argument("--port: interface " + port.interface + " is there twice");
  }
}

}  // namespace

const char* const kUsage =
    "usage: orrery-p4-switch --device-id N --p4runtime ADDRESS --control SOCKET\n"
    "                        [--port N@INTERFACE]... [--program FILE.json --p4info FILE]\n"
    "                        [--cpu-port N] [--drop-port N]\n"
    "       orrery-p4-switch --help\n"
    "\n"
    "Runs a P4 program (BMv2 JSON, v1model) between interfaces of this network namespace, programmed by P4Runtime.\n"
    "\n"
    "  --device-id N        P4Runtime device, from 1\n"
    "  --p4runtime ADDRESS  where P4Runtime is served: unix:/path, 127.0.0.1:PORT or [::1]:PORT; up to 4 times\n"
    "  --control SOCKET     unix socket that is served: one JSON request a line (at most 102 bytes); heartbeats at\n"
    "                       SOCKET.beat\n"
    "  --port N@INTERFACE   a port, whose interface may be missing until later; once for each\n"
    "  --program, --p4info  the pipeline at the start: JSON of p4c, and P4Info as text or binary\n"
    "  --cpu-port N         port of the controller's packets, 510\n"
    "  --drop-port N        port that drops, 511\n"
    "  --help               this text\n"
    "\n"
    "Ends with 2 when the command line or the program cannot be used, with 1 for what may be better next time.\n";

Arguments parse_arguments(int argc, char** argv) {
  static constexpr option kLong[] = {
      {"device-id", required_argument, nullptr, 'd'},
      {"p4runtime", required_argument, nullptr, 'r'},
      {"control", required_argument, nullptr, 'c'},
      {"port", required_argument, nullptr, 'p'},
      {"program", required_argument, nullptr, 'j'},
      {"p4info", required_argument, nullptr, 'i'},
      {"cpu-port", required_argument, nullptr, 'u'},
      {"drop-port", required_argument, nullptr, 'x'},
      {"help", no_argument, nullptr, 'h'},
      {nullptr, 0, nullptr, 0},
  };
  Arguments arguments;
  opterr = 0;
  for (int c = 0; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    switch (c) {
      case 'd':
        arguments.device_id = number(optarg, "--device-id", 1, UINT64_MAX);
        break;
      case 'r':
        arguments.p4runtime.emplace_back(optarg);
        break;
      case 'c':
        arguments.control = optarg;
        break;
      case 'p':
        arguments.ports.push_back(port_of(optarg));
        break;
      case 'j':
        arguments.program = optarg;
        break;
      case 'i':
        arguments.p4info = optarg;
        break;
      case 'u':
        arguments.cpu_port = static_cast<uint32_t>(number(optarg, "--cpu-port", 0, kPortNumbers - 1));
        break;
      case 'x':
        arguments.drop_port = static_cast<uint32_t>(number(optarg, "--drop-port", 0, kPortNumbers - 1));
        break;
      case 'h':
        arguments.help = true;
        return arguments;
      default:
        throw std::invalid_argument(std::string("unknown option, or one without its value: ") + argv[optind - 1]);
    }
  }
  if (optind != argc) throw std::invalid_argument(std::string("unexpected argument ") + argv[optind]);
  check(arguments);
  return arguments;
}

}  // namespace orrery::p4
