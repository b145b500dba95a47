// SPDX-License-Identifier: Apache-2.0
// What one core does: millions of packets a second of CPU time of one worker, with everything in this process; and what
// the engine itself spends on a packet.
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "chains.h"
#include "core/engine.h"
#include "core/packet_meta.h"
#include "graphs.h"
#include "loads.h"
#include "native_api.h"
#include "profile.h"
#include "reflector.h"
#include "schedule.h"
#include "steering.h"

namespace {

using nlohmann::json;
using orrery::Engine;
using orrery::bench::empty_graph;
using orrery::bench::graph;
using orrery::bench::link;

constexpr const char* kUsage =
    "usage: orrery-engine-bench [--json] [--only TEXT] [--seconds S] [--hugepages | --no-huge]\n"
    "       orrery-engine-bench --chains [--hugepages | --no-huge]\n"
    "       orrery-engine-bench --native-api [--hugepages | --no-huge]\n"
    "       orrery-engine-bench --ports ENGINE PEER [--seconds S] [--hugepages | --no-huge]\n"
    "       orrery-engine-bench --schedule\n"
    "       orrery-engine-bench --steering [--only TEXT] [--seconds S] [--hugepages | --no-huge]\n"
    "       orrery-engine-bench --profile [--board ENGINE BOARD] [--hugepages | --no-huge]\n"
    "\n"
    "  --json         one JSON object a figure\n"
    "  --only TEXT    only figures whose name begins with this\n"
    "  --seconds S    of measurement a figure (default 2)\n"
    "  --chains       one JSON object for each NF and chain, in sequence and in parallel\n"
    "  --native-api   one JSON object for each way in which NFs tell each other something\n"
    "  --ports E P    one JSON object for each kind of port on E, an interface whose peer is P\n"
    "  --schedule     one JSON object for each scheduler tree: {schedule, tasks, backlogged, cycles a run}\n"
    "  --steering     one JSON object for each way to split flows: {split, flows, cycles a packet}\n"
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
  bool schedule = false;
  bool steering = false;
  bool chains = false;
  bool native_api = false;
  bool ports = false;
  std::optional<orrery::bench::VethPair> veth;
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

// Packets of 1,024 flows through the NFs to a null port; without NFs, what making and sending them costs.
json through(const std::vector<const char*>& nfs, int packet_bytes) {
  json modules{{{"name", "source"}, {"kind", "source"}, {"config", {{"packet_bytes", packet_bytes}, {"flows", 1024}}}},
               {{"name", "out"}, {"kind", "port_out"}, {"config", {{"port", "null"}}}}};
  json links = json::array();
  std::string last = "source";
  for (const char* nf : nfs) {
    modules.push_back({{"name", nf}, {"kind", nf}, {"config", orrery::bench::load_of(nf)}});
    links.push_back(link(last, nf));
    last = nf;
  }
  links.push_back(link(last, "out"));
  return graph(json::array({{{"name", "null"}, {"driver", "null"}}}), std::move(modules), std::move(links),
               json::array({{{"module", "source"}}}));
}

// Frames of an interface back out of it.
json mirror_of(const char* driver, const std::string& iface) {
  return graph(json::array({{{"name", "port"}, {"driver", driver}, {"iface", iface}}}),
               {{{"name", "in"}, {"kind", "port_in"}, {"config", {{"port", "port"}}}},
                {{"name", "out"}, {"kind", "port_out"}, {"config", {{"port", "port"}}}}},
               {link("in", "out")}, json::array({{{"module", "in"}}}));
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
    if (!name.starts_with(options.only)) return;
    print(measure(engine, name, params, options.seconds), options.as_json);
  };
  show("l2 null->null", forwarder({{"driver", "null"}}));
  const json rings = forwarder({{"driver", "ring"}});
  json only_ports = empty_graph();
  only_ports["ports"] = rings["ports"];
  engine.apply(only_ports);
  fill_rings(eal);
  show("l2 ring->ring", rings);
  show("source->null", through({}, 60));
  for (const char* nf : orrery::bench::loaded_nfs()) show(std::string(nf) + " 1024 flows", through({nf}, 60));
  show("ids 1024 flows, 512 B", through({"ids"}, 512));
  show("chain of 4 NFs", through(orrery::bench::four_nfs(), 60));
}

// Frames of a source out of one memif port and into another. Both are of one engine, so that one worker pays for both
// ends, as it does where it sends frames of an interface back.
json over_memif(int packet_bytes) {
  const std::string socket = "orrery-bench-" + std::to_string(getpid());
  const auto end = [&](const char* role) {
    return json{{"name", role}, {"driver", "memif"}, {"socket", socket}, {"role", role}};
  };
  return graph(json::array({end("server"), end("client")}),
               {{{"name", "source"}, {"kind", "source"}, {"config", {{"packet_bytes", packet_bytes}}}},
                {{"name", "out"}, {"kind", "port_out"}, {"config", {{"port", "client"}}}},
                {{"name", "in"}, {"kind", "port_in"}, {"config", {{"port", "server"}}}},
                {{"name", "sink"}, {"kind", "sink"}, {"config", json::object()}}},
               {link("source", "out"), link("in", "sink")}, json::array({{{"module", "source"}}, {{"module", "in"}}}));
}

// CPU time of a frame that is received and sent.
void show_port(Engine& engine, const Options& options, const char* driver, int bytes, size_t frames) {
  std::this_thread::sleep_for(kWarmUp);
  const Progress before = progress(engine);
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  const Progress after = progress(engine);
  const double packets = after.packets - before.packets;
  std::puts(json{{"port", driver},
                 {"bytes", bytes},
                 {"frames", frames},
                 {"cpu_ns", (after.cpu_s - before.cpu_s) * 1e9 / packets},
                 {"mean_us", options.seconds * 1e6 * static_cast<double>(frames) / packets}}
                .dump()
                .c_str());
  std::fflush(stdout);
}

void run_ports(const Options& options) {
  const orrery::Eal eal(options.eal);
  Engine engine({}, eal);
  // One after the other, because an interface that af_xdp has given up cannot be opened again.
  for (const char* driver : {"af_packet", "af_xdp"})
    for (const uint16_t bytes : {60, 1500})
      for (const size_t frames : {size_t{256}, size_t{1}}) {
        engine.apply(mirror_of(driver, options.veth->engine));
        const orrery::bench::Reflector far_end(options.veth->board, bytes, frames);
        show_port(engine, options, driver, bytes, frames);
      }
  for (const uint16_t bytes : {60, 1500}) {
    engine.apply(over_memif(bytes));
    show_port(engine, options, "memif", bytes, 256);
  }
}

void show_line(const json& result) {
  std::puts(result.dump().c_str());
  std::fflush(stdout);
}

void run_chains(const Options& options) {
  const orrery::Eal eal(options.eal);
  orrery::bench::chains(eal, show_line);
}

void run_native_api(const Options& options) {
  const orrery::Eal eal(options.eal);
  orrery::bench::native_api(eal, show_line);
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
    } else if (argument == "--schedule") {
      options.schedule = true;
    } else if (argument == "--steering") {
      options.steering = true;
    } else if (argument == "--chains") {
      options.chains = true;
    } else if (argument == "--native-api") {
      options.native_api = true;
    } else if ((argument == "--board" || argument == "--ports") && i + 2 < argc) {
      options.ports = argument == "--ports";
      options.veth = {.engine = argv[i + 1], .board = argv[i + 2]};
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
  return options.profile || options.ports || !options.veth;
}

void run_profile(const Options& options) {
  const orrery::Eal eal(options.eal);
  orrery::bench::profile(eal, options.veth ? &*options.veth : nullptr, [](const orrery::bench::PartCost& cost) {
    std::puts(json{{"part", cost.part}, {"bytes", cost.bytes}, {"cycles", cost.cycles}}.dump().c_str());
  });
}

void run_schedule(const Options&) {
  orrery::bench::schedule([](const orrery::bench::ScheduleCost& cost) {
    std::puts(json{
        {"schedule", cost.schedule}, {"tasks", cost.tasks}, {"backlogged", cost.backlogged}, {"cycles", cost.cycles}}
                  .dump()
                  .c_str());
  });
}

void run_steering(const Options& options) {
  const orrery::Eal eal(options.eal);
  orrery::bench::steering(eal, options.only, options.seconds, [](const orrery::bench::SteeringCost& cost) {
    json out = {{"split", cost.split}, {"flows", cost.flows}, {"cycles", cost.cycles}};
    if (cost.change_us != 0) out.update({{"change_us", cost.change_us}, {"pause_us", cost.pause_us}});
    std::puts(out.dump().c_str());
    std::fflush(stdout);
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
    const auto runs = options.profile      ? run_profile
                      : options.schedule   ? run_schedule
                      : options.steering   ? run_steering
                      : options.chains     ? run_chains
                      : options.native_api ? run_native_api
                      : options.ports      ? run_ports
                                           : run;
    runs(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery-engine-bench: %s\n", error.what());
    return 1;
  }
}
