// SPDX-License-Identifier: Apache-2.0
// What one core does: millions of packets a second of CPU time of one worker, with everything in this process; and what
// the engine itself spends on a packet.
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/engine.h"
#include "core/packet_meta.h"
#include "graphs.h"
#include "profile.h"

namespace {

using nlohmann::json;
using orrery::Engine;
using orrery::bench::empty_graph;
using orrery::bench::graph;
using orrery::bench::link;

constexpr const char* kUsage =
    "usage: orrery-engine-bench [--json] [--only TEXT] [--seconds S] [--hugepages | --no-huge]\n"
    "       orrery-engine-bench --profile [--board ENGINE BOARD] [--hugepages | --no-huge]\n"
    "\n"
    "  --json         one JSON object a figure\n"
    "  --only TEXT    only figures with this in their name\n"
    "  --seconds S    of measurement a figure (default 2)\n"
    "  --profile      one JSON object for each part of the engine and packet length: {part, bytes, cycles}\n"
    "  --board ENGINE BOARD   also the way to a board and back, over this veth pair of its own\n"
    "  --hugepages, --no-huge   where packets lie (default: hugepages when enough are free)\n";

constexpr auto kWarmUp = std::chrono::milliseconds(200);
// Packets that circulate from each ring port: as many as testpmd sends first.
constexpr uint32_t kCirculating = 32;

struct Options {
  bool as_json = false;
  std::string_view only;
  double seconds = 2;
  bool profile = false;
  std::optional<orrery::bench::VethPair> board;
  orrery::EalOptions eal{.memory = orrery::Memory::kAuto, .memory_mb = 256};
};

struct Figure {
  std::string name;
  double mpps;
};

// Two ports, each forwarding to the other with swapped MACs: what testpmd calls macswap.
json forwarder(const json& driver) {
  json ports = json::array();
  for (const char* name : {"a", "b"}) {
    ports.push_back(driver);
    ports.back()["name"] = name;
  }
  json modules = json::array();
  json links = json::array();
  json tasks = json::array();
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const std::string in = std::string("in-") + from, l2 = std::string("l2-") + from, out = std::string("out-") + to;
    modules.push_back({{"name", in}, {"kind", "port_in"}, {"config", {{"port", from}}}});
    modules.push_back({{"name", l2}, {"kind", "l2-forwarder"}, {"config", {{"swap_macs", true}}}});
    modules.push_back({{"name", out}, {"kind", "port_out"}, {"config", {{"port", to}}}});
    links.push_back(link(in, l2));
    links.push_back(link(l2, out));
    tasks.push_back({{"module", in}});
  }
  return graph(std::move(ports), std::move(modules), std::move(links), std::move(tasks));
}

// Packets of 1,024 flows through the NF to a null port; without an NF, what making and sending them costs.
json through(const char* nf, const json& config, int packet_bytes) {
  json modules = json::array();
  modules.push_back(
      {{"name", "source"}, {"kind", "source"}, {"config", {{"packet_bytes", packet_bytes}, {"flows", 1024}}}});
  modules.push_back({{"name", "out"}, {"kind", "port_out"}, {"config", {{"port", "null"}}}});
  json links = json::array();
  if (nf == nullptr) {
    links.push_back(link("source", "out"));
  } else {
    modules.push_back({{"name", "nf"}, {"kind", nf}, {"config", config}});
    links.push_back(link("source", "nf"));
    links.push_back(link("nf", "out"));
  }
  return graph(json::array({{{"name", "null"}, {"driver", "null"}}}), std::move(modules), std::move(links),
               json::array({{{"module", "source"}}}));
}

// None of them matches the traffic, so every packet meets all.
json firewall_rules(int count) {
  json rules = json::array();
  for (int i = 0; i < count; ++i)
    rules.push_back({{"action", "deny"},
                     {"src", "10." + std::to_string(i) + ".0.0/16"},
                     {"proto", i % 2 == 0 ? "tcp" : "udp"},
                     {"dst_port", std::to_string(1000 + i)}});
  return {{"rules", std::move(rules)}, {"default_action", "allow"}};
}

json ids_rules(int count) {
  json rules = json::array();
  for (int i = 0; i < count; ++i)
    rules.push_back(
        {{"id", "rule-" + std::to_string(i)}, {"pattern", "attack-" + std::to_string(i * 7919) + "-payload"}});
  return {{"rules", std::move(rules)}};
}

struct Progress {
  double packets = 0;
  double cpu_s = 0;
};

Progress progress(Engine& engine) {
  const json stats = engine.stats();
  Progress out;
  for (const json& module : stats["modules"])
    if (module["kind"] == "port_out") out.packets += module["packets_out"].get<double>();
  out.cpu_s = stats["workers"][0]["cpu_ns"].get<double>() / 1e9;
  return out;
}

Figure measure(Engine& engine, const std::string& name, const json& params, double seconds) {
  engine.apply(params);
  std::this_thread::sleep_for(kWarmUp);
  const Progress before = progress(engine);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const Progress after = progress(engine);
  engine.apply(empty_graph());
  return {name, (after.packets - before.packets) / (after.cpu_s - before.cpu_s) / 1e6};
}

// Puts packets into every ring port, so that they circulate once the ports are joined.
void fill_rings(const orrery::Eal& eal) {
  uint16_t port = 0;
  RTE_ETH_FOREACH_DEV(port) {
    for (uint32_t i = 0; i < kCirculating; ++i) {
      rte_mbuf* packet = rte_pktmbuf_alloc(eal.pool());
      if (packet == nullptr) return;
      packet->data_len = 60;
      packet->pkt_len = 60;
      std::memset(orrery::bytes_of(packet), 0, 60);
      if (rte_eth_tx_burst(port, 0, &packet, 1) != 1) rte_pktmbuf_free(packet);
    }
  }
}

void print(const Figure& figure, bool as_json) {
  if (as_json) {
    const json out = {{"name", figure.name}, {"value", figure.mpps}, {"unit", "Mpps/core"}, {"better", "higher"},
                      {"bar", nullptr},      {"baseline", nullptr},  {"ratio", nullptr},    {"pass", nullptr}};
    std::printf("%s\n", out.dump().c_str());
  } else {
    std::printf("%-28s %8.2f Mpps a second of CPU time\n", figure.name.c_str(), figure.mpps);
  }
  std::fflush(stdout);
}

void run(const Options& options) {
  const orrery::Eal eal(options.eal);
  Engine engine({}, eal);
  const auto show = [&](const std::string& name, const json& params) {
    if (name.find(options.only) == std::string::npos) return;
    print(measure(engine, name, params, options.seconds), options.as_json);
  };
  show("l2 null->null", forwarder({{"driver", "null"}}));
  const json rings = forwarder({{"driver", "ring"}});
  json only_ports = empty_graph();
  only_ports["ports"] = rings["ports"];
  engine.apply(only_ports);
  fill_rings(eal);
  show("l2 ring->ring", rings);
  show("source->null", through(nullptr, {}, 60));
  show("firewall 100 rules", through("firewall", firewall_rules(100), 60));
  show("nat 1024 flows", through("nat", {{"external_addresses", {"203.0.113.1"}}}, 60));
  show("ids 100 patterns 60 B", through("ids", ids_rules(100), 60));
  show("ids 100 patterns 512 B", through("ids", ids_rules(100), 512));
  show("monitor 1024 flows", through("monitor", json::object(), 60));
  show("stateful-firewall 16 rules", through("stateful-firewall", firewall_rules(16), 60));
  show("elephant-detector 1024 flows", through("elephant-detector", json::object(), 60));
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      options.as_json = true;
    } else if (argument == "--hugepages") {
      options.eal.memory = orrery::Memory::kHugepages;
    } else if (argument == "--no-huge") {
      options.eal.memory = orrery::Memory::kNoHuge;
    } else if (argument == "--profile") {
      options.profile = true;
    } else if (argument == "--board" && i + 2 < argc) {
      options.board = {.engine = argv[i + 1], .board = argv[i + 2]};
      i += 2;
    } else if (argument == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (argument == "--seconds" && i + 1 < argc) {
      const std::string_view value = argv[++i];
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.seconds);
      if (error != std::errc{} || end != value.data() + value.size() || !(options.seconds > 0)) return false;
    } else {
      return false;
    }
  }
  return options.profile || !options.board;
}

void run_profile(const Options& options) {
  const orrery::Eal eal(options.eal);
  orrery::bench::profile(eal, options.board ? &*options.board : nullptr, [](const orrery::bench::PartCost& cost) {
    std::puts(json{{"part", cost.part}, {"bytes", cost.bytes}, {"cycles", cost.cycles}}.dump().c_str());
  });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    options.profile ? run_profile(options) : run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery-engine-bench: %s\n", error.what());
    return 1;
  }
}
