// SPDX-License-Identifier: Apache-2.0
// Speed of the emulated device without sockets, module by module: board-bench LIBRARY [MODULE...]
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "board/device/device.h"

namespace {

using namespace orrery::board;

constexpr uint32_t kClockMhz = 100;
constexpr double kMeasureS = 1;
constexpr int kSwaps = 200;

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// A TCP segment of IPv4 from 10.0.0.x:y to 10.1.0.1:80, without SYN.
void fill(Frame& frame, size_t length, uint32_t n) {
  constexpr uint8_t kHeader[54] = {0x02, 0x0e, 0, 1, 0,  0, 2, 0, 0,  0, 0,    1,    8,  0, 0x45, 0, 0,    0,
                                   0,    0,    0, 0, 64, 6, 0, 0, 10, 0, 0,    1,    10, 1, 0,    1, 0x04, 0,
                                   0,    80,   0, 0, 0,  0, 0, 0, 0,  0, 0x50, 0x10, 1,  0, 0,    0, 0,    0};
  frame.length = static_cast<uint16_t>(length);
  std::fill_n(frame.bytes.begin(), length, uint8_t{'x'});
  std::copy_n(kHeader, std::min(sizeof(kHeader), length), frame.bytes.begin());
  frame.bytes[16] = static_cast<uint8_t>((length - 14) >> 8);
  frame.bytes[17] = static_cast<uint8_t>(length - 14);
  frame.bytes[29] = static_cast<uint8_t>(n);
  frame.bytes[35] = static_cast<uint8_t>(n >> 8);
}

void measure_frames(Device& device, const std::string& name, size_t length) {
  FrameRing& in = device.fabric().queue(0, kNear).in;
  FrameRing& out = device.fabric().queue(0, kFar).out;
  const uint64_t cycles = device.fabric().cycles_run();
  const double start = cpu_s();
  uint64_t frames = 0;
  double passed = 0;
  for (uint32_t n = 0; (passed = cpu_s() - start) < kMeasureS;) {
    while (!in.full()) {
      fill(in.back(), length, n++);
      in.push();
      ++frames;
    }
    device.fabric().run(4096);
    out.pop(out.size());
  }
  frames -= in.size();
  const double board_s = static_cast<double>(device.fabric().cycles_run() - cycles) / (kClockMhz * 1e6);
  const double rate = static_cast<double>(frames) / passed;
  std::printf("%-20s %5zu B  %9.0f frames/s  %7.3f Gbit/s  %6.2f Mcycle/s  %5.1f cycles/frame  slowdown %5.1f\n",
              name.c_str(), length, rate, rate * static_cast<double>(length) * 8e-9, board_s * kClockMhz / passed,
              board_s * kClockMhz * 1e6 / static_cast<double>(frames), passed / board_s);
  in.pop(in.size() - 1);  // the frame at the head may have begun
  device.fabric().run(100'000);
  out.pop(out.size());
}

void measure_swap(Device& device, const ModuleInfo& module) {
  std::vector<double> us;
  for (int i = 0; i < kSwaps; ++i) {
    device.quiesce(0, Policy::kHold);
    const double start = cpu_s();
    device.remove(0, SlotState::kLoading);
    device.insert(0, module);
    us.push_back((cpu_s() - start) * 1e6);
    device.resume(0);
  }
  std::sort(us.begin(), us.end());
  std::printf("%-20s swap: min %.0f us, median %.0f us\n", module.name.c_str(), us.front(), us[us.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: board-bench LIBRARY [MODULE...]\n");
    return 2;
  }
  const Library library(argv[1]);
  for (const ModuleInfo& module : library.modules()) {
    const bool chosen =
        argc == 2 || std::any_of(argv + 2, argv + argc, [&](const char* n) { return module.name == n; });
    if (!chosen) continue;
    Device device(1, kClockMhz, [](size_t) {});
    device.insert(0, module);
    device.write(0, 0x008, 1);
    device.resume(0);
    for (const size_t length : {60, 1514}) measure_frames(device, module.name, length);
    measure_swap(device, module);
  }
  return 0;
}
