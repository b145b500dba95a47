// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <map>
#include <vector>

#include "cycles.h"
#include "graphs.h"
#include "profile_modules.h"
#include "reflector.h"

namespace orrery::bench {
namespace {

using nlohmann::json;

constexpr uint16_t kLengths[] = {60, 1514};
constexpr int kRounds = 15;

// Packets of full batches along a line of modules into a sink each for its last module's gates.
json line(uint16_t bytes, const json& parts, int gates = 1) {
  json modules = json::array({module("source", "full_source", {{"bytes", bytes}})});
  json links = json::array(), tasks = json::array({task("source")});
  std::string last = "source";
  for (const json& part : parts) {
    modules.push_back(part);
    links.push_back(link(last, part["name"]));
    last = part["name"];
    if (part["kind"] == "queue") tasks.push_back(task(last));
  }
  for (int gate = 0; gate < gates; ++gate) {
    const std::string sink = "sink" + std::to_string(gate);
    modules.push_back(module(sink, "sink"));
    links.push_back(link(last, sink, gate));
  }
  return graph(json::array(), std::move(modules), std::move(links), std::move(tasks));
}

// Copies that a mirror makes beside the original, which goes to a branch that does not write (HydraNF 6.4).
constexpr int kCopies = 2;

json mirror() {
  json copies = json::array();
  for (int way = 0; way <= kCopies; ++way) copies.push_back({{"writes", way != 0}});
  return module("mirror", "mirror", {{"nested", false}, {"copies", std::move(copies)}});
}

json merged(uint16_t bytes) {
  json branches = json::array();
  for (int way = 0; way <= kCopies; ++way) branches.push_back({{"writes", way != 0}, {"resizes_at", nullptr}});
  json modules{module("source", "full_source", {{"bytes", bytes}}), mirror(),
               module("merge", "merge", {{"nested", false}, {"branches", std::move(branches)}}),
               module("sink", "sink")};
  json links{link("source", "mirror"), link("merge", "sink")};
  for (int way = 0; way <= kCopies; ++way) links.push_back(link("mirror", "merge", way, way));
  return graph(json::array(), std::move(modules), std::move(links), json::array({task("source")}));
}

// Four classes by header; all packets are of the last.
json classifier() {
  const auto to_port = [](int port) { return json{{"field", "port.dst"}, {"lo", port}, {"hi", port}}; };
  json rules = json::array();
  for (int port : {80, 443, 53}) rules.push_back({{"gate", 0}, {"match", json::array({to_port(port)})}});
  rules.push_back({{"gate", 0}, {"match", json::array({{{"field", "ip.proto"}, {"value", 17}}, to_port(9)})}});
  return module("classifier", "classify", {{"rules", std::move(rules)}});
}

json look_aside(const VethPair& board) {
  return graph(json::array({{{"name", "board"}, {"driver", "af_packet"}, {"iface", board.engine}}}),
               {module("in", "port_in", {{"port", "board"}}), module("meter", "meter"),
                module("from-hop", "hop_in", {{"hops", json::array({{{"hop", 1}, {"gate", 0}}})}}),
                module("to-hop", "hop_out", {{"hop", 1}}), module("out", "port_out", {{"port", "board"}})},
               {link("in", "meter"), link("meter", "from-hop"), link("from-hop", "to-hop"), link("to-hop", "out")},
               json::array({task("in")}));
}

// Cycles per packet by part. Each round measures all graphs, so that what changes on the machine changes all of them.
std::map<std::string, double> parts_of(Engine& engine, BatchTimes& times, uint16_t bytes) {
  std::map<std::string, std::vector<double>> costs;
  for (int round = 0; round < kRounds; ++round) {
    const auto of = [&](const json& graph) { return cycles_of(engine, times, graph); };
    const double bare = of(line(bytes, json::array()));
    const auto beyond_bare = [&](json part) { return of(line(bytes, json::array({std::move(part)}))) - bare; };
    const double mirrored = of(line(bytes, json::array({mirror()}), 1 + kCopies));
    costs["queue"].push_back(beyond_bare(module("queue", "queue")));
    costs["gate"].push_back(beyond_bare(module("counter", "counter")));
    costs["classifier"].push_back(beyond_bare(classifier()));
    costs["copy"].push_back((mirrored - bare) / kCopies);
    costs["merge"].push_back((of(merged(bytes)) - mirrored) / kCopies);
  }
  std::map<std::string, double> out;
  for (const auto& [part, cycles] : costs) out[part] = median(cycles);
  return out;
}

// All that happens to a packet that circulates between the engine and the far end is its way there and back.
double look_aside_of(Engine& engine, BatchTimes& times, const VethPair& board, uint16_t bytes) {
  times.clear();
  engine.apply(look_aside(board));
  const Reflector reflector(board.board, bytes);
  return cycles_of(engine, times);
}

}  // namespace

void profile(const Eal& eal, const VethPair* board, const std::function<void(const PartCost& cost)>& show) {
  BatchTimes times;
  const ModuleKind source = full_source(times), meters = meter(times);
  Engine engine({.workers = 1, .cpus = {}, .more_kinds = {&source, &meters}}, eal);
  for (const uint16_t bytes : kLengths) {
    for (const auto& [part, cycles] : parts_of(engine, times, bytes)) show({part, bytes, cycles});
    if (board != nullptr) show({"look-aside", bytes, look_aside_of(engine, times, *board, bytes)});
  }
}

}  // namespace orrery::bench
