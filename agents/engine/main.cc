// SPDX-License-Identifier: Apache-2.0
#include <getopt.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "control/control.h"
#include "core/eal.h"
#include "core/engine.h"
#include "core/module_kinds.h"
#include "core/schedule/policy_kind.h"
#include "nfs/registry.h"
#include "support/end_signals.h"
#include "support/heartbeat_server.h"
#include "support/json_line_server.h"

namespace {

constexpr const char* kUsage =
    "usage: orrery-engine --socket PATH [options]\n"
    "\n"
    "  --socket PATH      unix socket that is served: one JSON request a line (at most 102 bytes); heartbeats at\n"
    "                     PATH.beat\n"
    "  --workers N        worker threads (default 1)\n"
    "  --lcores LIST      CPU of each worker, e.g. 1,3; without it workers run where the process may run\n"
    "  --memory WHERE     auto, hugepages or no-huge (default auto: hugepages when enough are free)\n"
    "  --memory-mb M      memory for packets (default 64)\n"
    "  --nfs              print the NFs that it has as a JSON array\n"
    "  --abilities        print what it can run beside NFs as a JSON array: module kinds and what the core offers\n"
    "  --help             this text\n";

struct Options {
  std::string socket;
  orrery::EngineOptions engine;
  orrery::EalOptions eal;
  bool help = false;
  bool nfs = false;
  bool abilities = false;
};

bool parse_number(std::string_view text, uint32_t lo, uint32_t hi, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= lo && number <= hi;
}

bool parse_cpus(std::string_view text, std::vector<int>& cpus) {
  while (true) {
    const size_t comma = text.find(',');
    uint32_t cpu = 0;
    if (!parse_number(text.substr(0, comma), 0, CPU_SETSIZE - 1, cpu)) return false;
    cpus.push_back(static_cast<int>(cpu));
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool parse_memory(std::string_view text, orrery::Memory& memory) {
  if (text == "auto") {
    memory = orrery::Memory::kAuto;
  } else if (text == "hugepages") {
    memory = orrery::Memory::kHugepages;
  } else if (text == "no-huge") {
    memory = orrery::Memory::kNoHuge;
  } else {
    return false;
  }
  return true;
}

// What is wrong with the command line; empty when nothing is.
std::string parse_options(int argc, char** argv, Options& options) {
  static constexpr option kLong[] = {
      {"socket", required_argument, nullptr, 's'},
      {"workers", required_argument, nullptr, 'w'},
      {"lcores", required_argument, nullptr, 'l'},
      {"memory", required_argument, nullptr, 'm'},
      {"memory-mb", required_argument, nullptr, 'M'},
      {"nfs", no_argument, nullptr, 'n'},
      {"abilities", no_argument, nullptr, 'a'},
      {"help", no_argument, nullptr, 'h'},
      {nullptr, 0, nullptr, 0},
  };
  for (int c = 0; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    const std::string_view value = optarg == nullptr ? "" : optarg;
    switch (c) {
      case 's':
        options.socket = value;
        break;
      case 'w':
        if (!parse_number(value, 1, 64, options.engine.workers)) return "--workers must be from 1 to 64";
        break;
      case 'l':
        if (!parse_cpus(value, options.engine.cpus)) return "--lcores must be CPU numbers joined by commas";
        break;
      case 'm':
        if (!parse_memory(value, options.eal.memory)) return "--memory must be auto, hugepages or no-huge";
        break;
      case 'M':
        if (!parse_number(value, orrery::kMinMemoryMb, orrery::kMaxMemoryMb, options.eal.memory_mb))
          return "--memory-mb must be from " + std::to_string(orrery::kMinMemoryMb) + " to " +
                 std::to_string(orrery::kMaxMemoryMb);
        break;
      case 'n':
        options.nfs = true;
        return {};
      case 'a':
        options.abilities = true;
        return {};
      case 'h':
        options.help = true;
        return {};
      default:
        return "unknown option";
    }
  }
  if (optind != argc) return std::string("unexpected argument ") + argv[optind];
  if (options.socket.empty()) return "--socket is required";
  if (!options.engine.cpus.empty() && options.engine.cpus.size() != options.engine.workers)
    return "--lcores must name as many CPUs as there are workers";
  return {};
}

// Others may have taken the hugepages that were free a moment ago, and DPDK starts only once in a process.
void start_again_without_hugepages(char** argv) {
  std::string memory = "--memory", no_huge = "no-huge";
  std::vector<char*> arguments;
  for (; *argv != nullptr; ++argv) arguments.push_back(*argv);
  arguments.insert(arguments.end(), {memory.data(), no_huge.data(), nullptr});
  execv("/proc/self/exe", arguments.data());
}

nlohmann::json nfs() {
  const auto kinds = orrery::nf_kinds();
  return std::vector(kinds.begin(), kinds.end());
}

nlohmann::json abilities() {
  nlohmann::json out = orrery::plumbing_kind_names();
  for (const char* core : {"emit-many", "hold", "many-inputs", "timer", "scheduler"}) out.push_back(core);
  for (const orrery::PolicyKind* policy : orrery::policy_kinds()) out.push_back(policy->name);
  return out;
}

int serve(const Options& options) {
  const orrery::Eal eal(options.eal);
  orrery::Engine engine(options.engine, eal);
  orrery::JsonLineServer* server_address = nullptr;
  orrery::JsonLineServer server({.path = options.socket}, [&](const nlohmann::json& request) {
    return orrery::answer(engine, request, [&] { server_address->stop(); });
  });
  orrery::HeartbeatServer heartbeat(options.socket);
  server_address = &server;
  const orrery::EndSignals signals([&] { server.stop(); });
  heartbeat.start();
  std::printf("orrery-engine %s serves %s (%s)\n", orrery::kEngineVersion, options.socket.c_str(),
              eal.hugepages() ? "hugepages" : "no-huge");
  std::fflush(stdout);
  server.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::string problem = parse_options(argc, argv, options); !problem.empty()) {
    std::fprintf(stderr, "orrery-engine: %s\n%s", problem.c_str(), kUsage);
    return 2;
  }
  if (options.help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    if (!options.nfs && !options.abilities) return serve(options);
    std::puts((options.nfs ? nfs() : abilities()).dump().c_str());
    return 0;
  } catch (const orrery::NoHugepages& error) {
    if (options.eal.memory == orrery::Memory::kAuto) start_again_without_hugepages(argv);
    std::fprintf(stderr, "orrery-engine: %s\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery-engine: %s\n", error.what());
    return 1;
  }
}
