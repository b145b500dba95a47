// SPDX-License-Identifier: Apache-2.0
// How many flows move in a second of CPU time, from one NF core to another in memory: copied in portions, written as
// binary rows, read, checked, sorted and taken in; also through the JSON text of the control protocol. One JSON object
// for each figure. With --pauses instead, for how long the worker of a full table stands still when a configuration is
// put in force, in ms.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nfs/flow_moves.h"
#include "nfs/flow_store.h"
#include "nfs/registry.h"
#include "support/checksum.h"
#include "support/clock.h"

namespace {

using namespace orrery;
using nlohmann::json;

constexpr uint32_t kFlows = 200'000;
constexpr int kRounds = 5;
constexpr size_t kBatch = 32;
constexpr size_t kFrameBytes = 60;

// A SYN of flow n from a source of its own.
std::vector<uint8_t> frame_of(uint32_t n) {
  std::vector<uint8_t> frame(kFrameBytes);
  uint8_t* ip = &frame[14];
  store_be16(&frame[12], 0x0800);
  ip[0] = 0x45;
  store_be16(ip + 2, kFrameBytes - 14);
  ip[8] = 64;
  ip[9] = 6;
  store_be32(ip + 12, 0x0a000000 + n);
  store_be32(ip + 16, 0xc6130001);
  store_be16(ip + 20, 1234);
  store_be16(ip + 22, 80);
  ip[32] = 0x50;
  ip[33] = 0x02;
  return frame;
}

void fill(NfCore& nf, uint32_t flows) {
  const uint64_t then_ns = monotonic_ns() - 1'000'000'000;
  for (uint32_t begin = 0; begin < flows; begin += kBatch) {
    std::vector<std::vector<uint8_t>> frames;
    std::vector<NfPacket> packets;
    frames.reserve(kBatch);
    packets.reserve(kBatch);
    for (uint32_t n = begin; n < std::min<uint32_t>(begin + kBatch, flows); ++n) frames.push_back(frame_of(n));
    for (auto& frame : frames) packets.push_back({frame.data(), kFrameBytes, parse_packet(frame), 0});
    std::vector<NfVerdict> verdicts(packets.size());
    nf.process(packets, Direction::kForward, verdicts, then_ns + uint64_t{begin} * 1000);
  }
}

json ask(json (*request)(NfCore&, JsonFields&, const Slices&), NfCore& nf, const json& params) {
  JsonFields fields(params, "", "bad-request");
  return request(nf, fields, [](const std::function<bool()>& slice) {
    while (slice()) continue;
  });
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

struct Moved {
  size_t flows;
  double seconds;
};

// All flows, or a tenth of them by a range of H(f).
Moved move(std::string_view nf, const json& config, const json& flows, bool as_text) {
  const auto from = find_nf(nf)(config, {}), to = find_nf(nf)(config, {});
  fill(*from, kFlows);
  Moved moved{};
  const double began = cpu_seconds();
  for (json params{{"flows", flows}}, portion = json::object(); !portion.value("last", false);) {
    portion = ask(export_flows, *from, params);
    if (as_text) portion = json::parse(portion.dump());
    json import{{"state", portion["state"]}, {"renew", true}};
    if (as_text) import = json::parse(import.dump());
    const json imported = ask(import_state, *to, import);
    if (imported["left_out"] != 0) throw std::runtime_error("flows were left out");
    moved.flows += portion["rows"].get<size_t>();
    ask(release_flows, *from, {{"flows", flows}, {"portion", portion["portion"]}});
    params["after"] = portion["portion"];
  }
  moved.seconds = cpu_seconds() - began;
  return moved;
}

double median_rate(std::string_view nf, const json& config, const json& flows, bool as_text) {
  std::vector<double> rates;
  for (int i = 0; i < kRounds; ++i) {
    const auto [moved, seconds] = move(nf, config, flows, as_text);
    rates.push_back(static_cast<double>(moved) / seconds);
  }
  std::ranges::nth_element(rates, rates.begin() + kRounds / 2);
  return rates[kRounds / 2];
}

// Of a table of a million flows.
constexpr uint32_t kPausedFlows = 1'000'000;

double pause_ms(std::string_view nf, const json& config, const json& change) {
  const auto core = find_nf(nf)(config, {});
  fill(*core, kPausedFlows);
  json changed = config;
  changed.update(change);
  const auto next = core->prepare(changed, {});
  const uint64_t began_ns = monotonic_ns();
  core->take(*next);
  return static_cast<double>(monotonic_ns() - began_ns) / 1e6;
}

void print_pauses() {
  json external = json::array();
  for (int n = 1; n <= 16; ++n) external.push_back("192.0.2." + std::to_string(n));
  const json backends = {{{"address", "10.1.0.1"}}, {{"address", "10.1.0.2"}}};
  const json drained = {{{"address", "10.1.0.1"}}, {{"address", "10.1.0.2"}, {"state", "drain"}}};
  const json balancer{{"virtual_address", "198.19.0.1"},
                      {"external_addresses", external},
                      {"backends", backends},
                      {"max_flows", kPausedFlows}};
  const json nat{{"external_addresses", external}, {"max_flows", kPausedFlows}};
  const json table{{"max_flows", kPausedFlows}}, larger{{"max_flows", kMaxFlows}}, patient{{"idle_timeout_s", 200}};
  const std::vector<std::tuple<std::string, json, std::string, json>> changes{
      {"load-balancer", balancer, "a back end drains", {{"backends", drained}}},
      {"load-balancer", balancer, "a back end is removed", {{"backends", {backends[0]}}}},
      {"load-balancer", balancer, "max_flows", larger},
      {"nat", nat, "idle_timeout_s", patient},
      {"nat", nat, "port_lo", {{"port_lo", 1023}}},
      {"nat", nat, "max_flows", larger},
      {"monitor", table, "max_flows", larger}};
  for (const auto& [nf, config, name, change] : changes) {
    std::vector<double> pauses;
    pauses.reserve(kRounds);
    for (int i = 0; i < kRounds; ++i) pauses.push_back(pause_ms(nf, config, change));
    std::ranges::nth_element(pauses, pauses.begin() + kRounds / 2);
    const json figure{{"name", std::string("pause, ").append(nf).append(", ").append(name)},
                      {"value", pauses[kRounds / 2]}};
    std::puts(figure.dump().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--pauses") {
    print_pauses();
    return 0;
  }
  const std::vector<std::pair<std::string, json>> nfs{
      {"stateful-firewall", {{"default_action", "allow"}, {"max_flows", kFlows}}},
      {"monitor", {{"max_flows", kFlows}}},
      {"nat", {{"external_addresses", {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}}, {"max_flows", kFlows}}}};
  const json all = json::object(), tenth{{"hash", {{"key", {"ip.src"}}, {"lo", 0}, {"hi", 6554}}}};
  for (const auto& [nf, config] : nfs) {
    for (const auto& [name, flows, as_text] :
         {std::tuple{"all", &all, false}, {"a tenth by H(f)", &tenth, false}, {"all, as JSON text", &all, true}}) {
      const json figure{{"name", "move flows, " + nf + ", " + name},
                        {"value", median_rate(nf, config, *flows, as_text)}};
      std::puts(figure.dump().c_str());
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
