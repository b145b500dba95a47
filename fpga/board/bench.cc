// SPDX-License-Identifier: Apache-2.0
// Speed of the emulated device without sockets, per module: in CPU time and in board time.
#include <getopt.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "board/device/device.h"
#include "board/device/table.h"

namespace {

using namespace orrery::board;
using nlohmann::json;

constexpr const char* kUsage =
    "usage: board-bench [--json] LIBRARY [MODULE...]\n"
    "\n"
    "Frames through one slot at 100 MHz, with the shell but without sockets: TCP acknowledgements of 256 flows\n"
    "that the module knows. Latency is from the first beat into the shell's port to the first and to the last\n"
    "beat out, one frame at a time.\n"
    "\n"
    "  --json    one JSON object per module, and one with the machine's time stamp counter\n"
    "  --help    this text\n";

constexpr uint32_t kClockMhz = 100;
constexpr double kNsPerCycle = 1e3 / kClockMhz;
constexpr double kMeasureS = 1;
constexpr int kSwaps = 200;
constexpr uint32_t kFlows = 256;
constexpr int kLatencyFrames = 101;
constexpr uint64_t kLatencyLimitCycles = 100'000;
constexpr uint16_t kControl = 0x008, kStatus = 0x00c;  // fpga/README.md
constexpr uint32_t kEnable = 1, kClearing = 2;
constexpr uint16_t kOptions = 0x080, kLargest = 0x08c;  // fpga/regs/nf_crypto_tunnel.yaml
constexpr uint32_t kUdp = 1 << 2;
constexpr uint8_t kSyn = 0x02, kAck = 0x10;
constexpr uint32_t kInside = 0x0a000000, kOutside = 0xcb007101;  // 10.0.0.0, 203.0.113.1
constexpr uint32_t kSourcePort = 0x0400, kTcp = 6;

struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double cpu_s() {
  return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double tsc_mhz() {
  const double start_s = seconds(CLOCK_MONOTONIC);
  const uint64_t start = __rdtsc();
  double passed_s = 0;
  while ((passed_s = seconds(CLOCK_MONOTONIC) - start_s) < 0.1) continue;
  return static_cast<double>(__rdtsc() - start) / passed_s * 1e-6;
}

template <typename T>
T median(std::vector<T> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// A TCP segment of IPv4 from 10.0.0.x:1024 to 10.1.0.1:80; its payload is harmless.
void fill(Frame& frame, size_t length, uint32_t n, uint8_t flags) {
  constexpr uint8_t kHeader[54] = {0x02, 0x0e, 0, 1, 0,  0, 2, 0, 0,  0, 0,    1, 8,  0, 0x45, 0, 0, 0,
                                   0,    0,    0, 0, 64, 6, 0, 0, 10, 0, 0,    0, 10, 1, 0,    1, 4, 0,
                                   0,    80,   0, 0, 0,  0, 0, 0, 0,  0, 0x50, 0, 1,  0, 0,    0, 0, 0};
  frame.length = static_cast<uint16_t>(length);
  std::fill_n(frame.bytes.begin(), length, uint8_t{'x'});
  std::ranges::copy(kHeader, frame.bytes.begin());
  frame.bytes[16] = static_cast<uint8_t>((length - 14) >> 8);
  frame.bytes[17] = static_cast<uint8_t>(length - 14);
  frame.bytes[29] = static_cast<uint8_t>(n % kFlows);
  frame.bytes[47] = flags;
}

// A slot with a running module; frames enter at the near port and leave at the far one.
class Bench {
 public:
  explicit Bench(const ModuleInfo& module) : module_(module), device_(1, kClockMhz, [](size_t) {}) {
    start();
    learn_flows();
  }

  json frames(size_t length) {
    const uint64_t cycles = simulation_.cycles_run();
    const double start = cpu_s();
    uint64_t out = 0;
    uint32_t in = 0;
    double passed_s = 0;
    while ((passed_s = cpu_s() - start) < kMeasureS) {
      for (; !near_.full(); ++in) put(length, in, kAck);
      simulation_.run(4096);
      out += take();
    }
    const auto run = static_cast<double>(simulation_.cycles_run() - cycles);
    const auto count = static_cast<double>(out);
    require_all(in, out + drain());
    const auto [first, last] = latency_cycles(length);
    return {{"bytes", length},
            {"frames_per_cpu_s", count / passed_s},
            {"cycles_per_cpu_s", run / passed_s},
            {"slowdown", passed_s / (run * kNsPerCycle * 1e-9)},
            {"board_cycles_per_frame", run / count},
            {"board_first_out_ns", static_cast<double>(first) * kNsPerCycle},
            {"board_last_out_ns", static_cast<double>(last) * kNsPerCycle}};
  }

  // CPU time in us from the quiet slot until the module is back in it, with its ID verified.
  json swap() {
    std::vector<double> us;
    for (int i = 0; i < kSwaps; ++i) {
      device_.quiesce(0, Policy::kHold);
      const double start = cpu_s();
      device_.remove(0, SlotState::kLoading);
      device_.insert(0, module_);
      us.push_back((cpu_s() - start) * 1e6);
      device_.resume(0);
    }
    return {{"min", *std::ranges::min_element(us)}, {"median", median(us)}};
  }

 private:
  void start() {
    device_.insert(0, module_);
    while ((device_.read(0, kStatus).value_or(0) & kClearing) != 0) continue;
    device_.write(0, kControl, kEnable);
    device_.resume(0);
  }

  void learn_flows() {
    // One session with a key of zeros, and packets of any length.
    if (module_.name == "nf_crypto_tunnel")
      for (const auto& [address, value] : {std::pair<uint16_t, uint32_t>{kOptions, kUdp}, {kLargest, 2000}})
        device_.write(0, address, value);
    if (module_.name == "nf_nat") {
      std::vector<TableEntry> entries;
      entries.reserve(kFlows);
      for (uint32_t n = 0; n < kFlows; ++n)
        entries.push_back({kInside + n, kOutside, kSourcePort << 16 | (kSourcePort + n), kTcp, 0, 0, 0, 0});
      import_table(device_, 0, entries);
    }
    if (module_.name == "nf_stateful_firewall")
      for (uint32_t n = 0; n < kFlows; ++n) put(60, n, kSyn);
    drain();
  }

  void put(size_t length, uint32_t n, uint8_t flags) {
    fill(near_.back(), length, n, flags);
    near_.push();
  }

  size_t take() {
    const size_t frames = far_.size();
    far_.pop(frames);
    return frames;
  }

  size_t drain() {
    size_t frames = 0;
    for (bool quiet = false; !quiet;) {
      quiet = simulation_.run(4096) && near_.empty();
      frames += take();
    }
    return frames;
  }

  void require_all(uint64_t in, uint64_t out) const {
    if (in != out)
      throw std::runtime_error(module_.name + ": of " + std::to_string(in) + " frames " + std::to_string(out) +
                               " came out");
  }

  // Medians over frames that are alone in the device.
  std::pair<uint64_t, uint64_t> latency_cycles(size_t length) {
    std::vector<uint64_t> first, last;
    const Simulation::Queue& near = simulation_.queue(0, kNear);
    const Simulation::Queue& far = simulation_.queue(0, kFar);
    const auto until = [&](auto holds) {
      const uint64_t limit = simulation_.cycles() + kLatencyLimitCycles;
      while (!holds()) {
        if (simulation_.cycles() == limit) throw std::runtime_error(module_.name + ": a frame did not come out");
        simulation_.step();
      }
      return simulation_.cycles();
    };
    for (uint32_t n = 0; n < kLatencyFrames; ++n) {
      put(length, n, kAck);
      const uint64_t in = until([&] { return near.in_at > 0 || near.in.empty(); });
      first.push_back(until([&] { return far.out_in_frame || !far.out.empty(); }) - in);
      last.push_back(until([&] { return !far.out.empty(); }) - in);
      drain();
    }
    return {median(first), median(last)};
  }

  ModuleInfo module_;
  Device device_;
  Simulation& simulation_ = device_.simulation();
  FrameRing& near_ = simulation_.queue(0, kNear).in;
  FrameRing& far_ = simulation_.queue(0, kFar).out;
};

void print(const json& result) {
  const std::string name = result["module"];
  for (const json& f : result["frames"])
    std::printf(
        "%-20s %5d B  %9.0f frames/CPU-s  %6.2f Mcycle/CPU-s  slowdown %5.1f  "
        "board time: %6.1f cycles/frame, first beat out %5.0f ns, last %5.0f ns\n",
        name.c_str(), f["bytes"].get<int>(), f["frames_per_cpu_s"].get<double>(),
        f["cycles_per_cpu_s"].get<double>() * 1e-6, f["slowdown"].get<double>(),
        f["board_cycles_per_frame"].get<double>(), f["board_first_out_ns"].get<double>(),
        f["board_last_out_ns"].get<double>());
  std::printf("%-20s swap: min %.0f us, median %.0f us\n", name.c_str(), result["swap_us"]["min"].get<double>(),
              result["swap_us"]["median"].get<double>());
}

void run(const std::string& directory, const std::set<std::string>& chosen, bool as_json) {
  const Library library(directory);
  std::set<std::string> unknown = chosen;
  for (const ModuleInfo& module : library.modules()) unknown.erase(module.name);
  if (!unknown.empty()) throw Usage(*unknown.begin() + " is not a module in " + directory);
  if (as_json) std::printf("%s\n", json{{"tsc_mhz", tsc_mhz()}}.dump().c_str());
  for (const ModuleInfo& module : library.modules()) {
    if (!chosen.empty() && !chosen.contains(module.name)) continue;
    Bench bench(module);
    json result = {{"module", module.name}, {"frames", json::array()}};
    for (const size_t length : {60, 1514}) result["frames"].push_back(bench.frames(length));
    result["swap_us"] = bench.swap();
    if (as_json) {
      std::printf("%s\n", result.dump().c_str());
    } else {
      print(result);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr option kLong[] = {
      {"json", no_argument, nullptr, 'j'}, {"help", no_argument, nullptr, 'h'}, {nullptr, 0, nullptr, 0}};
  bool as_json = false;
  for (int c = 0; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    if (c == 'h') {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (c != 'j') {
      std::fputs(kUsage, stderr);
      return 2;
    }
    as_json = true;
  }
  if (optind == argc) {
    std::fprintf(stderr, "board-bench: LIBRARY is missing\n%s", kUsage);
    return 2;
  }
  try {
    run(argv[optind], {argv + optind + 1, argv + argc}, as_json);
    return 0;
  } catch (const Usage& error) {
    std::fprintf(stderr, "board-bench: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "board-bench: %s\n", error.what());
    return 1;
  }
}
