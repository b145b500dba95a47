// SPDX-License-Identifier: Apache-2.0
// What a packet costs in an NF core, its headers parsed as in the engine: the median over batches, in cycles of the
// time stamp counter. For NFs that the engine benchmark's UDP source does not keep busy.
#include <x86intrin.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nfs/registry.h"
#include "support/checksum.h"
#include "support/clock.h"

namespace {

using namespace orrery;
using nlohmann::json;

constexpr const char* kUsage =
    "usage: orrery-nf-bench [--only TEXT | --profile]\n"
    "\n"
    "  --only TEXT    only figures with this in their name\n"
    "  --profile      one JSON object for each NF and packet length: {nf, bytes, cycles}\n";

constexpr size_t kBatch = 32;
constexpr size_t kFlows = 1024;
constexpr int kRounds = 400;  // over all flows
constexpr uint8_t kTcp = 6, kUdp = 17;
constexpr uint8_t kSyn = 0x02, kAck = 0x10, kPsh = 0x08;

using Frame = std::vector<uint8_t>;

// A frame of flow n, which has a source of its own; its payload is text.
struct FrameShape {
  uint8_t proto;
  uint8_t flags;
  uint16_t bytes;
  bool own_destination = false;  // else all flows go to one
};

Frame frame_of(const FrameShape& shape, uint32_t n) {
  Frame frame(shape.bytes);
  for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>('a' + (i * 7 + i / 5) % 26);
  store_be16(&frame[12], 0x0800);
  uint8_t* ip = &frame[14];
  std::memset(ip, 0, 20);
  ip[0] = 0x45;
  store_be16(ip + 2, static_cast<uint16_t>(shape.bytes - 14));
  ip[8] = 64;
  ip[9] = shape.proto;
  store_be32(ip + 12, 0xc6120000 + n);
  store_be32(ip + 16, 0xc6130001 + (shape.own_destination ? n : 0));
  uint8_t* l4 = ip + 20;
  store_be16(l4, 1024);
  store_be16(l4 + 2, 80);
  if (shape.proto == kUdp) {
    store_be16(l4 + 4, static_cast<uint16_t>(shape.bytes - 34));
  } else {
    l4[12] = 0x50;
    l4[13] = shape.flags;
  }
  return frame;
}

std::vector<Frame> frames_of(const FrameShape& shape) {
  std::vector<Frame> frames;
  frames.reserve(kFlows);
  for (uint32_t n = 0; n < kFlows; ++n) frames.push_back(frame_of(shape, n));
  return frames;
}

// Cycles a packet of each batch.
void run_round(NfCore& nf, std::vector<Frame>& frames, std::vector<double>* cycles) {
  std::vector<NfPacket> packets(kBatch);
  std::vector<NfVerdict> verdicts(kBatch);
  for (size_t begin = 0; begin < frames.size(); begin += kBatch) {
    const uint64_t now_ns = monotonic_ns();
    const uint64_t start = __rdtsc();
    for (size_t i = 0; i < kBatch; ++i) {
      Frame& frame = frames[begin + i];
      new (&packets[i]) NfPacket{frame.data(), static_cast<uint32_t>(frame.size()), parse_packet(frame), 0};
    }
    nf.process(packets, Direction::kForward, verdicts, now_ns);
    const uint64_t end = __rdtsc();
    if (cycles != nullptr) cycles->push_back(static_cast<double>(end - start) / kBatch);
  }
}

double median_cycles(NfCore& nf, std::vector<Frame> first, const std::vector<Frame>& then) {
  run_round(nf, first, nullptr);
  std::vector<Frame> frames = then;
  run_round(nf, frames, nullptr);
  std::vector<double> cycles;
  for (int round = 0; round < kRounds; ++round) {
    frames = then;  // an NF may have rewritten them
    run_round(nf, frames, &cycles);
  }
  std::ranges::nth_element(cycles, cycles.begin() + static_cast<ptrdiff_t>(cycles.size() / 2));
  return cycles[cycles.size() / 2];
}

// None of them matches the traffic, so whatever meets the rules meets all.
json firewall_config() {
  json rules = json::array();
  for (int i = 0; i < 16; ++i)
    rules.push_back({{"action", "deny"}, {"src", "10." + std::to_string(i) + ".0.0/16"}, {"dst_port", 1000 + i}});
  return {{"rules", std::move(rules)}};
}

void run(std::string_view only) {
  const auto show = [&](const std::string& name, const char* kind, const json& config, const FrameShape& first,
                        const FrameShape& then) {
    if (name.find(only) == std::string::npos) return;
    const auto nf = find_nf(kind)(config, {});
    std::printf("%-44s %8.1f cycles per packet\n", name.c_str(), median_cycles(*nf, frames_of(first), frames_of(then)));
  };
  const FrameShape syn{kTcp, kSyn, 60}, ack{kTcp, kAck, 60}, udp{kUdp, 0, 60};
  const FrameShape syns{kTcp, kSyn, 60, true}, acks{kTcp, kAck, 60, true};
  show("stateful-firewall 1024 connections", "stateful-firewall", firewall_config(), syn, ack);
  show("stateful-firewall 16 rules, UDP", "stateful-firewall", firewall_config(), udp, udp);
  for (const uint16_t bytes : {60, 512, 1514}) {
    const FrameShape request{kTcp, kAck | kPsh, bytes};
    show("sqli-detector " + std::to_string(bytes) + " B", "sqli-detector", json::object(), request, request);
  }
  show("ddos-detector SYNs to 1024 destinations", "ddos-detector", json::object(), syns, syns);
  show("ddos-detector ACKs to 1024 destinations", "ddos-detector", json::object(), syns, acks);
  show("elephant-detector 1024 flows", "elephant-detector", json::object(), udp, udp);
  show("monitor 1024 flows", "monitor", json::object(), udp, udp);
}

// Traffic that an NF is profiled with: flows that it knows, through the work that it does for most packets.
struct Workload {
  const char* nf;
  json config;
  uint8_t first_flags = kAck | kPsh;  // of each connection's first segment
  bool own_destination = false;
};

std::vector<Workload> workloads() {
  return {
      {"ddos-detector", json::object(), kSyn, true},
      {"elephant-detector", json::object()},
      {"firewall", firewall_config()},
      {"ids", json::object()},
      {"l2-forwarder", json::object()},
      {"monitor", json::object()},
      {"nat", {{"external_addresses", {"198.18.0.1"}}}, kSyn},
      {"rate-limiter", {{"rate_bps", 1'000'000'000'000}, {"burst_bytes", 1'000'000}}},
      {"sqli-detector", json::object()},
      {"stateful-firewall", firewall_config(), kSyn},
  };
}

void profile() {
  for (const Workload& load : workloads()) {
    for (const uint16_t bytes : {60, 1514}) {
      const FrameShape first{kTcp, load.first_flags, bytes, load.own_destination};
      const FrameShape then{kTcp, kAck | kPsh, bytes, load.own_destination};
      const auto nf = find_nf(load.nf)(load.config, {});
      const double cycles = median_cycles(*nf, frames_of(first), frames_of(then));
      std::puts(json{{"nf", load.nf}, {"bytes", bytes}, {"cycles", cycles}}.dump().c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--profile") {
    profile();
    return 0;
  }
  const bool has_only = argc == 3 && std::string_view(argv[1]) == "--only";
  if (argc != 1 && !has_only) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  run(has_only ? argv[2] : "");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "orrery-nf-bench: %s\n", error.what());
  return 1;
}
