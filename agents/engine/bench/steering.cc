// SPDX-License-Identifier: Apache-2.0
#include "steering.h"

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "core/engine.h"
#include "core/packet_meta.h"
#include "core/pass.h"
#include "full_batch.h"
#include "graphs.h"
#include "support/json_fields.h"
#include "udp_frame.h"

namespace orrery::bench {
namespace {

using nlohmann::json;

constexpr uint16_t kFlowBytes = 60;
constexpr uint32_t kMostFlows = 1u << 20;
constexpr uint32_t kFirstAddress = 0x0a000000;
constexpr auto kWarmUpPoll = std::chrono::milliseconds(20);
constexpr auto kWarmUpLimit = std::chrono::seconds(30);

// {"flows": n}: full batches of UDP packets of n flows from 10.0.0.0/8, one after the other in an order that jumps, so
// that neighbours in time are not neighbours in memory.
class FlowSource final : public TaskModule {
 public:
  explicit FlowSource(const ModuleContext& context) : TaskModule({"no_memory"}), pool_(context.pool) {
    JsonFields fields(context.config, context.pointer, "invalid-config");
    flows_ = static_cast<uint32_t>(fields.integer("flows", 1, kMostFlows));
    fields.done();
    write_udp_headers(headers_.data(), kFlowBytes, 0);
  }

  void process(Pass&, Batch&, uint8_t) override {}

  uint32_t poll(Pass& pass) override {
    return emit_full_batch(pass, *this, pool_, kFlowBytes, [this](uint8_t* frame) {
      std::memcpy(frame, headers_.data(), kUdpHeaders);
      store_be32(frame + kEthernetHeader + 12, kFirstAddress + flow_);
      // A prime above any count of flows: every flow has its turn.
      flow_ = static_cast<uint32_t>((flow_ + uint64_t{1'299'709}) % flows_);
    });
  }

  Wakeup wakeup() const override { return {.now = true}; }

 private:
  rte_mempool* pool_;
  std::array<uint8_t, kUdpHeaders> headers_{};
  uint32_t flows_;
  uint32_t flow_ = 0;
};

const ModuleKind kFlowSource{
    .name = "flow_source",
    .inputs = 0,
    .gates = 1,
    .role = ModuleKind::Role::kTask,
    .port_use = ModuleKind::PortUse::kNone,
    .make = [](const ModuleContext& context) -> std::unique_ptr<Module> {
      return std::make_unique<FlowSource>(context);
    },
};

json halves(int low_gate) {
  return json::array({{{"range", {{"lo", 0}, {"hi", 32768}}}, {"gate", low_gate}},
                      {{"range", {{"lo", 32768}, {"hi", 65536}}}, {"gate", 1 - low_gate}}});
}

// Two gates, half of the flows to each. `tracked`: flows that the splitter has room for; 0: it tracks none.
json split_graph(uint32_t flows, uint32_t tracked) {
  json config = {{"key", {"ip.src", "ip.dst", "ip.proto", "port.src", "port.dst"}}, {"ranges", halves(0)}};
  if (tracked != 0) config["exceptions"] = {{"capacity", tracked}, {"idle_timeout_s", 60}};
  return graph(json::array(),
               {module("source", "flow_source", {{"flows", flows}}), module("split", "hash_split", std::move(config)),
                module("a", "sink"), module("b", "sink")},
               {link("source", "split"), link("split", "a", 0), link("split", "b", 1)}, json::array({task("source")}));
}

json split_stats(Engine& engine) {
  json stats = engine.stats();
  for (json& module : stats["modules"])
    if (module["name"] == "split") return std::move(module);
  throw std::runtime_error("there is no split");
}

double packets_in(const json& split) {
  return split["packets_in"].get<double>();
}

// Until every flow has had its turn.
void warm_up(Engine& engine, uint32_t flows) {
  const double target = packets_in(split_stats(engine)) + 2.0 * flows + 100'000;
  const auto give_up = std::chrono::steady_clock::now() + kWarmUpLimit;
  while (packets_in(split_stats(engine)) < target) {
    if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("too few packets come through");
    std::this_thread::sleep_for(kWarmUpPoll);
  }
}

double cycles_of(Engine& engine, double seconds) {
  const json before = split_stats(engine);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const json after = split_stats(engine);
  return (after["cycles"].get<double>() - before["cycles"].get<double>()) / (packets_in(after) - packets_in(before));
}

}  // namespace

void steering(const Eal& eal, std::string_view only, double seconds,
              const std::function<void(const SteeringCost& cost)>& show) {
  Engine engine({.workers = 1, .cpus = {}, .more_kinds = {&kFlowSource}}, eal);
  const auto measure = [&](const std::string& split, uint32_t flows, uint32_t tracked, bool exceptions) {
    if (split.find(only) == std::string::npos) return;
    engine.apply(split_graph(flows, tracked));
    warm_up(engine, flows);
    // Every flow stays at the gate that the other half of the space leads to now.
    SteeringCost cost{.split = split, .flows = flows};
    if (exceptions) {
      const auto began = std::chrono::steady_clock::now();
      engine.set_split("split", halves(1), true);
      cost.change_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count();
      cost.pause_us = static_cast<double>(engine.pauses().longest_cpu_ns) / 1000;
    }
    warm_up(engine, flows);
    cost.cycles = cycles_of(engine, seconds);
    show(cost);
    engine.apply(empty_graph());
  };
  for (const uint32_t flows : {1'000u, 10'000u, 100'000u}) {
    measure("ranges", flows, 0, false);
    measure("tracking", flows, flows, false);
    measure("exceptions", flows, flows, true);
  }
  measure("tracking, full at 1000", 100'000, 1'000, false);
}

}  // namespace orrery::bench
