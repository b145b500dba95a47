// SPDX-License-Identifier: Apache-2.0
// What a packet costs in a small router (tests/programs/l3.p4): one prefix, one exact table, a counter, a checksum
// verified and one updated; and how fast its routes are put in.
//
//   p4_bench [--packets N] [--routes N] [--trace]
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "p4/core/pipeline.h"
#include "support/checksum.h"

namespace {

using namespace orrery::p4;

constexpr uint32_t kBatch = 32;
constexpr uint32_t kFrames = 1024;
constexpr uint32_t kHops = 16;

struct Count final : Sink {
  uint64_t frames = 0;
  uint64_t bytes = 0;
  bool send(const FrameOut& frame) override {
    frames += 1;
    bytes += frame.size();
    return true;
  }
  void digest(DigestSample&& /*sample*/) override {}
};

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

uint32_t route_address(uint32_t route) {
  return 0x0a000000 + (route << 8);
}

// Of 64 bytes, Ethernet and IPv4.
std::vector<uint8_t> frame_to(uint32_t address) {
  std::vector<uint8_t> frame(64);
  frame[12] = 8;
  uint8_t* ip = &frame[14];
  ip[0] = 0x45;
  orrery::store_be16(ip + 2, 50);
  ip[8] = 64;
  ip[9] = 17;
  orrery::store_be32(ip + 12, 0xc0a80101);
  orrery::store_be32(ip + 16, address);
  orrery::store_be16(ip + 10, orrery::checksum({ip, 20}));
  return frame;
}

uint32_t put_routes(Pipeline& pipeline, uint32_t routes) {
  const Program& program = pipeline.program();
  const uint32_t table = *program.find_table("IngressImpl.routes");
  const uint32_t hops = *program.find_table("IngressImpl.next_hops");
  const uint32_t route = *program.tables[table].action(program.actions, "IngressImpl.route");
  const uint32_t forward = *program.tables[hops].action(program.actions, "IngressImpl.forward");
  auto control = pipeline.control();
  for (uint32_t i = 0; i < kHops; ++i) {
    TableEntry entry{.key = {{.value = to_bytes(i)}}, .action = {}};
    entry.action = ActionCall{forward, {to_bytes(i), to_bytes(0x020000000000 + i), to_bytes(0x020000000100 + i)}};
    control.table(hops).insert(entry);
  }
  const double before = cpu_ns();
  for (uint32_t i = 0; i < routes; ++i) {
    TableEntry entry{.key = {{.value = to_bytes(route_address(i)), .mask = {}, .prefix_length = 24}}, .action = {}};
    entry.action = ActionCall{route, {to_bytes(i % kHops)}};
    control.table(table).insert(entry);
  }
  std::printf("%.0f inserts/s\n", routes / (cpu_ns() - before) * 1e9);
  return routes;
}

void measure(int argc, char** argv) {
  uint64_t packets = 5'000'000;
  uint32_t routes = 10'000;
  bool traced = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--trace") traced = true;
    if (option == "--packets" && i + 1 < argc) packets = std::strtoull(argv[++i], nullptr, 10);
    if (option == "--routes" && i + 1 < argc) routes = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10));
  }
  Pipeline pipeline(load_program(nlohmann::json::parse(std::ifstream(P4_PROGRAMS "/l3.json"))));
  put_routes(pipeline, routes);
  std::vector<std::vector<uint8_t>> frames;
  frames.reserve(kFrames);
  for (uint32_t i = 0; i < kFrames; ++i) frames.push_back(frame_to(route_address(i * 7919 % routes) + 1 + i % 200));
  Count sink;
  PacketTrace trace;
  const double before = cpu_ns();
  for (uint64_t done = 0; done < packets;) {
    auto batch = pipeline.batch();
    for (uint32_t i = 0; i < kBatch; ++i, ++done) {
      trace.steps.clear();
      batch.run({.port = 1, .bytes = frames[done % kFrames], .now_ns = done * 1000}, sink, traced ? &trace : nullptr);
    }
  }
  const double ns = (cpu_ns() - before) / static_cast<double>(packets);
  std::printf("%.1f ns a packet, %u routes, %llu of %llu sent\n", ns, routes,
              static_cast<unsigned long long>(sink.frames), static_cast<unsigned long long>(packets));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
