// SPDX-License-Identifier: Apache-2.0
// The control socket of the engine: lines of JSON, nearly right graphs, ranges and states, on an engine that runs.
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "control/control.h"
#include "fuzz/json_edits.h"

namespace {

using namespace orrery;
using fuzz::Bytes;
using fuzz::Input;
using nlohmann::json;

const json& requests() {
  static const json all = json::parse(R"([
    {"id": 1, "method": "describe", "params": {}},
    {"id": 2, "method": "stats", "params": {}},
    {"id": 3, "method": "apply", "params": {"generation": 1,
      "ports": [{"name": "p", "driver": "ring"}, {"name": "n", "driver": "null", "packet_bytes": 64, "copy": false}],
      "modules": [{"name": "src", "kind": "source", "config": {"flows": 16, "rate_pps": 1000}},
        {"name": "split", "kind": "hash_split", "config": {"key": ["ip.src", "port.src"],
          "ranges": [{"range": {"lo": 0, "hi": 30000}, "gate": 0},
            {"range": {"lo": 30000, "hi": 65536}, "gate": 1}],
          "exceptions": {"idle_timeout_s": 10, "capacity": 64}}},
        {"name": "nat", "kind": "nat", "config": {"external_addresses": ["198.18.0.1"], "max_flows": 64}},
        {"name": "q", "kind": "queue", "config": {"capacity": 64}},
        {"name": "out", "kind": "port_out", "config": {"port": "p"}},
        {"name": "in", "kind": "port_in", "config": {"port": "n"}},
        {"name": "cl", "kind": "classify", "config": {"rules": [
          {"match": [{"field": "ip.dst", "prefix": "10.0.0.0/8"}], "gate": 0}]}},
        {"name": "sink", "kind": "sink", "config": {}}],
      "links": [{"from": "src", "gate": 0, "to": "split", "input": 0}, {"from": "split", "gate": 0, "to": "nat", "input": 0},
        {"from": "split", "gate": 1, "to": "q", "input": 0}, {"from": "nat", "gate": 0, "to": "sink", "input": 0},
        {"from": "q", "gate": 0, "to": "out", "input": 0}, {"from": "in", "gate": 0, "to": "cl", "input": 0},
        {"from": "cl", "gate": 0, "to": "sink", "input": 0}],
      "tasks": [{"module": "src", "worker": 0}, {"module": "q", "worker": 0}, {"module": "in", "worker": 0}]}},
    {"id": 4, "method": "apply", "params": {"generation": 2, "ports": [],
      "modules": [{"name": "src", "kind": "source", "config": {"flows": 4}},
        {"name": "mirror", "kind": "mirror", "config": {"nested": false,
          "copies": [{"writes": false}, {"writes": true}, {"writes": true}]}},
        {"name": "fw", "kind": "firewall", "config": {"rules": [{"action": "deny", "src": "10.0.0.2"}]}},
        {"name": "nat", "kind": "nat", "config": {"external_addresses": ["198.18.0.1"], "max_flows": 64}},
        {"name": "lb", "kind": "load-balancer", "config": {"mode": "nat", "virtual_address": "203.0.113.1",
          "backends": [{"address": "10.0.0.2"}], "external_addresses": ["198.18.0.1"], "max_flows": 64}},
        {"name": "merge", "kind": "merge", "config": {"nested": false, "capacity": 64, "timeout_us": 1000,
          "branches": [{"writes": false, "resizes_at": null}, {"writes": true, "resizes_at": null},
            {"writes": true, "resizes_at": "payload"}]}},
        {"name": "sink", "kind": "sink", "config": {}}],
      "links": [{"from": "src", "gate": 0, "to": "mirror", "input": 0}, {"from": "mirror", "gate": 0, "to": "fw", "input": 0},
        {"from": "mirror", "gate": 1, "to": "nat", "input": 0}, {"from": "mirror", "gate": 2, "to": "lb", "input": 0},
        {"from": "fw", "gate": 0, "to": "merge", "input": 0}, {"from": "fw", "gate": 2, "to": "merge", "input": 15},
        {"from": "nat", "gate": 0, "to": "merge", "input": 1}, {"from": "nat", "gate": 2, "to": "merge", "input": 15},
        {"from": "lb", "gate": 0, "to": "merge", "input": 2}, {"from": "merge", "gate": 0, "to": "sink", "input": 0}],
      "tasks": [{"module": "src", "worker": 0}],
      "schedulers": [{"worker": 0, "tree": [
        {"kind": "rate-limit", "id": "root", "parent": null, "weight": null, "level": null, "resource": "packets",
          "per_second": 100000},
        {"kind": "weighted-fair", "id": "fair", "parent": "root", "weight": null, "level": null, "when_idle": "yield"},
        {"kind": "task", "id": "t", "parent": "fair", "weight": 2, "level": null, "module": "src"}]}]}},
    {"id": 5, "method": "set_split", "params": {"module": "split", "keep_flows": true,
      "ranges": [{"range": {"lo": 0, "hi": 100}, "gate": 1}, {"range": {"lo": 100, "hi": 65536}, "gate": 0}]}},
    {"id": 6, "method": "get_split", "params": {"module": "split", "limit": 10}},
    {"id": 7, "method": "get_state", "params": {"module": "nat", "limit": 10}},
    {"id": 8, "method": "export_state", "params": {"module": "nat"}},
    {"id": 9, "method": "import_state", "params": {"module": "nat", "state": {"flows": [], "peers": []}}},
    {"id": 10, "method": "shutdown", "params": {}}
  ])");
  return all;
}

Eal& eal() {
  static Eal instance({.memory = Memory::kNoHuge, .memory_mb = 64});
  return instance;
}

// An engine that took every request as it stands: what is refused unchanged would hide the code behind it.
Engine& engine() {
  static Engine instance({.workers = 1, .cpus = {}, .more_kinds = {}}, eal());
  static const bool taken = [] {
    for (const size_t i : {0, 1, 2, 4, 5, 6, 7, 8, 3, 6, 7, 9}) {
      const json response = answer(instance, requests()[i], [] {});
      fuzz::require(response.contains("result"), "an unchanged request is taken: " + response.dump());
    }
    return true;
  }();
  (void)taken;
  return instance;
}

// Files and interfaces of the machine are not for a fuzzer.
bool harmless(const json& request) {
  if (!request.is_object() || !request.contains("params") || !request["params"].is_object()) return true;
  const json& params = request["params"];
  if (!params.contains("ports") || !params["ports"].is_array()) return true;
  return std::ranges::all_of(params["ports"], [](const json& port) {
    return !port.is_object() || !port.contains("driver") || port["driver"] == "ring" || port["driver"] == "null";
  });
}

// Of DPDK's heap.
size_t dpdk_bytes() {
  rte_malloc_socket_stats stats{};
  rte_malloc_get_socket_stats(0, &stats);
  return stats.heap_allocsz_bytes;
}
// What DPDK keeps for each device name that it has seen, over all runs of a test.
constexpr size_t kSlackBytes = 1 << 20;

}  // namespace

std::vector<orrery::fuzz::Bytes> seeds() {
  std::vector<Bytes> out;
  for (size_t n = 0; n < requests().size(); ++n) {
    const auto i = static_cast<uint8_t>(n);
    out.push_back({i, 0});
    out.push_back({2, 0, i, 0, 1, 0});
    out.push_back({3, 0, i, 0, 1, 0});
    Bytes text{255};
    for (const char c : requests()[i].dump()) text.push_back(static_cast<uint8_t>(c));
    out.push_back(std::move(text));
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in({data, size});
  for (int n = 0; !in.empty() && n < 16; ++n) {
    const uint8_t what = in.u8();
    json request;
    if (what == 255) {
      const Bytes text = in.rest();
      request = json::parse(text.begin(), text.end(), nullptr, false);
      if (request.is_discarded()) break;
    } else {
      request = fuzz::edited(requests()[what % requests().size()], in);
    }
    if (!harmless(request)) continue;
    const json response = answer(engine(), request, [] {});
    fuzz::require(response.contains("result") != response.contains("error"), "an answer is a result or an error");
    fuzz::require(!response.dump().empty(), "it can be written");
  }
  engine().apply(json::parse(R"({"generation":0,"ports":[],"modules":[],"links":[],"tasks":[]})"));
  fuzz::require(rte_mempool_in_use_count(eal().pool()) == 0, "no packet buffer is lost");
  static const size_t at_first = dpdk_bytes();
  fuzz::require(dpdk_bytes() <= at_first + kSlackBytes, "memory of a graph that went is free");
  return 0;
}
