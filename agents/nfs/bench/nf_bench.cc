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

#include "nfs/bytestream/bytestream_core.h"
#include "nfs/bytestream/stream_view.h"
#include "nfs/bytestream/with_bytestream.h"
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
constexpr uint16_t kLongestInTunnel = 14 + 1438;
constexpr uint8_t kTcp = 6, kUdp = 17;
constexpr uint8_t kSyn = 0x02, kAck = 0x10, kPsh = 0x08;

using Frame = std::vector<uint8_t>;

// A frame of flow n, which has a source of its own; its payload is text. The NF has room around it.
struct FrameShape {
  uint8_t proto;
  uint8_t flags;
  uint16_t bytes;
  bool own_destination = false;  // else all flows go to one
  bool ipv6 = false;
  std::string_view payload = {};  // begins with it, as far as there is room
};

constexpr size_t kEthernetBytes = 14;

void write_ipv4(uint8_t* ip, const FrameShape& shape, uint32_t src, uint32_t dst) {
  std::memset(ip, 0, 20);
  ip[0] = 0x45;
  store_be16(ip + 2, static_cast<uint16_t>(shape.bytes - kEthernetBytes));
  ip[8] = 64;
  ip[9] = shape.proto;
  store_be32(ip + 12, src);
  store_be32(ip + 16, dst);
}

void write_ipv6(uint8_t* ip, const FrameShape& shape, uint32_t src, uint32_t dst) {
  std::memset(ip, 0, 40);
  ip[0] = 0x60;
  store_be16(ip + 4, static_cast<uint16_t>(shape.bytes - kEthernetBytes - 40));
  ip[6] = shape.proto;
  ip[7] = 64;
  for (uint8_t* address : {ip + 8, ip + 24}) store_be32(address, 0x20010db8);
  store_be32(ip + 20, src);
  store_be32(ip + 36, dst);
}

Frame frame_of(const FrameShape& shape, uint32_t n) {
  Frame frame(kLeastHeadroom + shape.bytes + kLeastTailroom);
  uint8_t* data = &frame[kLeastHeadroom];
  for (size_t i = 0; i < shape.bytes; ++i) data[i] = static_cast<uint8_t>('a' + (i * 7 + i / 5) % 26);
  store_be16(&data[12], shape.ipv6 ? 0x86dd : 0x0800);
  uint8_t* ip = &data[kEthernetBytes];
  (shape.ipv6 ? write_ipv6 : write_ipv4)(ip, shape, 0xc6120000 + n, 0xc6130001 + (shape.own_destination ? n : 0));
  uint8_t* l4 = ip + (shape.ipv6 ? 40 : 20);
  const auto l4_bytes = static_cast<uint16_t>(data + shape.bytes - l4);
  std::memset(l4, 0, shape.proto == kUdp ? 8 : 20);
  store_be16(l4, 1024);
  store_be16(l4 + 2, 80);
  if (shape.proto == kUdp) {
    store_be16(l4 + 4, l4_bytes);
  } else {
    l4[12] = 0x50;
    l4[13] = shape.flags;
  }
  uint8_t* payload = l4 + (shape.proto == kUdp ? 8 : 20);
  std::memcpy(payload, shape.payload.data(),
              std::min(shape.payload.size(), static_cast<size_t>(data + shape.bytes - payload)));
  const uint64_t pseudo = shape.ipv6
                              ? pseudo_header_sum(std::span<const uint8_t, 32>(ip + 8, 32), shape.proto, l4_bytes)
                              : pseudo_header_sum(load_be32(ip + 12), load_be32(ip + 16), shape.proto, l4_bytes);
  const uint64_t sum = pseudo + checksum_sum({l4, l4_bytes});
  store_be16(l4 + (shape.proto == kUdp ? 6 : 16), static_cast<uint16_t>(~checksum_fold(sum)));
  if (!shape.ipv6) store_be16(ip + 10, checksum({ip, 20}));
  return frame;
}

std::vector<Frame> frames_of(const FrameShape& shape, size_t flows = kFlows) {
  std::vector<Frame> frames;
  frames.reserve(flows);
  for (uint32_t n = 0; n < flows; ++n) frames.push_back(frame_of(shape, n));
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
      uint8_t* data = frame.data() + kLeastHeadroom;
      const auto length = static_cast<uint32_t>(frame.size() - kLeastHeadroom - kLeastTailroom);
      new (&packets[i]) NfPacket{data, length, parse_packet({data, length}), 0, kLeastHeadroom, kLeastTailroom};
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

json tunnel_config(const char* cipher, const char* acceleration) {
  return {{"key", std::string(64, '7')}, {"cipher", cipher}, {"acceleration", acceleration}};
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
  for (const uint16_t bytes : {uint16_t{60}, uint16_t{512}, kLongestInTunnel})
    for (const char* cipher : {"aes-128-ctr", "aes-256-ctr"})
      for (const char* acceleration : {"instructions", "none"}) {
        const FrameShape shape{kUdp, 0, bytes};
        const std::string name = std::string("crypto-tunnel ") + cipher + ", " + acceleration + ", ";
        show(name + std::to_string(bytes) + " B", "crypto-tunnel", tunnel_config(cipher, acceleration), shape, shape);
      }
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
  const FrameShape udp6{.proto = kUdp, .flags = 0, .bytes = 80, .ipv6 = true};
  const FrameShape syn6{.proto = kTcp, .flags = kSyn, .bytes = 80, .ipv6 = true};
  const FrameShape ack6{.proto = kTcp, .flags = kAck, .bytes = 80, .ipv6 = true};
  show("firewall 16 rules", "firewall", firewall_config(), udp, udp);
  show("IPv6: firewall 16 rules", "firewall", firewall_config(), udp6, udp6);
  show("IPv6: stateful-firewall 1024 connections", "stateful-firewall", firewall_config(), syn6, ack6);
  show("IPv6: elephant-detector 1024 flows", "elephant-detector", json::object(), udp6, udp6);
  show("IPv6: monitor 1024 flows", "monitor", json::object(), udp6, udp6);
}

// The NFs of a chain on the same packets, one after the other.
struct DetectorChain {
  const char* name;
  std::vector<std::unique_ptr<NfCore>> nfs;
  std::vector<double> cycles = {};  // a packet of each batch
};

constexpr const char* kDetectors[] = {"ids", "sqli-detector"};

std::vector<DetectorChain> detector_chains(StreamLog& log) {
  std::vector<DetectorChain> chains(3);
  const json by_stream = {{"inspect", "streams"}};
  chains[0].name = "packets, no reassembly";
  chains[1].name = "streams, each reassembles";
  chains[2].name = "streams, reassembled once";
  chains[2].nfs.push_back(bytestream::make(json::object(), log));
  for (const char* nf : kDetectors) {
    chains[0].nfs.push_back(find_nf(nf)(json::object(), {}));
    chains[1].nfs.push_back(with_bytestream(find_nf(nf)(by_stream, {})));
    chains[2].nfs.push_back(find_nf(nf)(by_stream, {}));
  }
  return chains;
}

// Of each flow the segment that follows; with `reorder` every eighth one and the one behind it change places.
void next_segments(std::vector<Frame>& frames, uint32_t payload_bytes, uint32_t round, bool reorder) {
  for (uint32_t n = 0; n < frames.size(); ++n) {
    uint32_t segment = round;
    if (const uint32_t at = round + n; reorder && at % 8 < 2) segment += at % 8 == 0 ? 1 : -1u;
    store_be32(&frames[n][kLeastHeadroom + kEthernetBytes + 24], segment * payload_bytes);
  }
}

// What it saves to reassemble once for two detectors (E2 3.6.1, figure 3.6), side by side on the same packets.
void run_detectors(std::string_view only) {
  for (const uint16_t bytes : {uint16_t{128}, uint16_t{512}, uint16_t{1514}})
    for (const bool reorder : {false, true}) {
      const std::string name = std::string("ids + sqli-detector ") + std::to_string(bytes) + " B" +
                               (reorder ? ", a quarter out of order" : "") + ": ";
      if (name.find(only) == std::string::npos) continue;
      StreamLog log(bytestream::kLeastLogBytes);
      std::vector<DetectorChain> chains = detector_chains(log);
      std::vector<Frame> frames = frames_of({kTcp, kAck, bytes});
      std::vector<NfPacket> packets(kBatch);
      std::vector<NfVerdict> verdicts(kBatch);
      std::vector<StreamView> views(kBatch);
      for (uint32_t round = 8; round < 8 + kRounds / 4; ++round) {
        next_segments(frames, bytes - 54u, round, reorder);
        for (size_t begin = 0; begin < frames.size(); begin += kBatch)
          for (DetectorChain& chain : chains) {
            const uint64_t now_ns = monotonic_ns();
            const uint64_t start = __rdtsc();
            for (const auto& nf : chain.nfs) {
              for (size_t i = 0; i < kBatch; ++i) {
                uint8_t* data = frames[begin + i].data() + kLeastHeadroom;
                new (&packets[i]) NfPacket{.data = data,
                                           .length = bytes,
                                           .parsed = parse_packet({data, bytes}),
                                           .metadata = 0,
                                           .stream = &views[i]};
              }
              nf->process(packets, Direction::kForward, verdicts, now_ns);
            }
            const uint64_t end = __rdtsc();
            chain.cycles.push_back(static_cast<double>(end - start) / kBatch);
          }
      }
      double each = 0;
      for (DetectorChain& chain : chains) {
        std::ranges::nth_element(chain.cycles, chain.cycles.begin() + static_cast<ptrdiff_t>(chain.cycles.size() / 2));
        const double median = chain.cycles[chain.cycles.size() / 2];
        std::printf("%-78s %8.1f cycles per packet", (name + chain.name).c_str(), median);
        if (&chain == &chains[1]) each = median;
        if (&chain == &chains[2]) std::printf(", %.2f of twice", median / each);
        std::printf("\n");
      }
    }
}

// With the address that all flows go to; the bench's clients are none of its back ends.
json balancer_config() {
  json backends = json::array();
  for (int i = 1; i <= 8; ++i) backends.push_back({{"address", "10.0.0." + std::to_string(i)}});
  return {
      {"virtual_address", "198.19.0.1"}, {"external_addresses", {"203.0.113.1"}}, {"backends", std::move(backends)}};
}

// None of the hosts is asked for; the payload of the bench's packets is no request.
json url_filter_config() {
  json rules = json::array();
  for (int i = 0; i < 256; ++i)
    rules.push_back({{"action", "block"}, {"host", "*.h" + std::to_string(i) + ".example"}});
  return {{"rules", std::move(rules)}};
}

constexpr size_t kMappings = 256;

// A mapping for the source of each flow.
json static_nat_config() {
  json addresses = json::array(), mappings = json::array();
  for (size_t i = 0; i < kMappings; ++i) {
    addresses.push_back("203.0.113." + std::to_string(i));
    mappings.push_back({{"inside", "198.18.0." + std::to_string(i)}});
  }
  return {{"external_addresses", std::move(addresses)}, {"mappings", std::move(mappings)}};
}

// Traffic that an NF is profiled with: flows that it knows, through the work that it does for most packets.
struct Workload {
  const char* nf;
  json config;
  uint8_t first_flags = kAck | kPsh;  // of each connection's first segment
  bool own_destination = false;
  uint16_t longest = 1514;  // frame
  size_t flows = kFlows;
  std::string_view first_payload = {};
};

std::vector<Workload> workloads() {
  return {
      {.nf = "busy-loop", .config = json::object(), .flows = kBatch},
      {"crypto-tunnel", tunnel_config("aes-128-ctr", "instructions"), kAck | kPsh, false, kLongestInTunnel},
      {"ddos-detector", json::object(), kSyn, true},
      {"elephant-detector", json::object()},
      {"firewall", firewall_config()},
      {"ids", json::object()},
      {"l2-forwarder", json::object()},
      {"load-balancer", balancer_config(), kSyn},
      {"monitor", json::object()},
      {"nat", {{"external_addresses", {"198.18.0.1"}}}, kSyn},
      {"rate-limiter", {{"rate_bps", 1'000'000'000'000}, {"burst_bytes", 1'000'000}}},
      {"sqli-detector", json::object()},
      {"stateful-firewall", firewall_config(), kSyn},
      {.nf = "static-nat", .config = static_nat_config(), .flows = kMappings},
      {"traffic-normalizer", json::object()},
      {.nf = "url-filter", .config = url_filter_config(), .first_payload = "GET / HTTP/1.1\n\n"},
  };
}

void profile() {
  for (const Workload& load : workloads()) {
    for (const uint16_t bytes : {uint16_t{60}, load.longest}) {
      const uint16_t first_bytes = load.first_payload.empty() ? bytes : load.longest;
      const FrameShape first{kTcp, load.first_flags, first_bytes, load.own_destination, false, load.first_payload};
      const FrameShape then{kTcp, kAck | kPsh, bytes, load.own_destination};
      const auto nf = find_nf(load.nf)(load.config, {});
      const double cycles = median_cycles(*nf, frames_of(first, load.flows), frames_of(then, load.flows));
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
  run_detectors(has_only ? argv[2] : "");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "orrery-nf-bench: %s\n", error.what());
  return 1;
}
