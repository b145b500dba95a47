// SPDX-License-Identifier: Apache-2.0
#include "p4/switch/control.h"

#include <time.h>
#include <unistd.h>

#include <set>

#include "support/clock.h"
#include "support/json_fields.h"

namespace orrery::p4 {
namespace {

using nlohmann::json;

constexpr std::string_view kBad = "bad-request";
constexpr size_t kMostName = 64;
constexpr size_t kMostInterface = 15;

uint64_t cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

json to_json(const PortReport& port) {
  return {{"number", port.config.number},
          {"name", port.config.name},
          {"interface", port.config.interface},
          {"state", name_of(port.state)},
          {"failure", port.failure.empty() ? json(nullptr) : json(port.failure)}};
}

json with_figures(const PortReport& port) {
  const PortCounters& c = port.counters;
  json out = to_json(port);
  out["rx_packets"] = c.rx_packets;
  out["rx_bytes"] = c.rx_bytes;
  out["tx_packets"] = c.tx_packets;
  out["tx_bytes"] = c.tx_bytes;
  json& drops = out["drops"] = json::object();
  for (const auto& [reason, count] : {std::pair{"rx_full", c.rx_full},
                                      {"rx_too_long", c.rx_too_long},
                                      {"tx_full", c.tx_full},
                                      {"tx_too_long", c.tx_too_long},
                                      {"tx_runt", c.tx_runt},
                                      {"tx_down", c.tx_down}})
    if (count != 0) drops[reason] = count;
  return out;
}

template <typename Show>
json list_of(const std::vector<PortReport>& ports, const Show& show) {
  json out = json::array();
  for (const PortReport& port : ports) out.push_back(show(port));
  return out;
}

json to_json(const service::DeviceStats& s) {
  return {{"clients", s.clients},
          {"primary", s.primary},
          {"writes", s.writes},
          {"updates", s.updates},
          {"failed_updates", s.failed_updates},
          {"reads", s.reads},
          {"packet_in", s.packet_in},
          {"packet_in_drops", s.packet_in_drops},
          {"packet_out", s.packet_out},
          {"packet_out_drops", s.packet_out_drops},
          {"digests", s.digests},
          {"digest_drops", s.digest_drops},
          {"idle_notifications", s.idle_notifications}};
}

}  // namespace

json SwitchControl::call(const std::string& method, const json& params, const std::function<void()>& shutdown) {
  if (method == "set_ports") return set_ports(params);
  JsonFields fields(params, "", kBad);
  if (method == "describe") {
    fields.done();
    return describe();
  }
  if (method == "stats") {
    fields.done();
    return stats();
  }
  if (method == "trace") {
    const auto count = static_cast<uint32_t>(fields.integer("count", 0, TraceStore::kMostArmed));
    std::optional<uint32_t> port;
    if (fields.optional("port") != nullptr) port = static_cast<uint32_t>(fields.integer("port", 0, kPortNumbers - 1));
    fields.done();
    forwarder_.traces().arm(count, port);
    return {{"armed", count}};
  }
  if (method == "traces") {
    const int64_t after = fields.integer_or("after", 0, INT64_MAX, 0);
    fields.done();
    return forwarder_.traces().read(static_cast<uint64_t>(after));
  }
  if (method == "shutdown") {
    fields.done();
    shutdown();
    return json::object();
  }
  throw EngineError(kBad, "", "there is no method " + method.substr(0, 40));
}

json SwitchControl::describe() {
  json program = nullptr;
  if (const auto running = device_.program()) {
    program = {{"name", running->name}, {"generation", running->generation}, {"cookie", nullptr}};
    // As text: JSON numbers of other languages have 53 bits.
    if (running->cookie) program["cookie"] = std::to_string(*running->cookie);
  }
  return {{"version", kVersion},
          {"pid", getpid()},
          {"epoch", epoch_},
          {"device_id", arguments_.device_id},
          {"cpu_port", arguments_.cpu_port},
          {"drop_port", arguments_.drop_port},
          {"p4runtime", arguments_.p4runtime},
          {"program", std::move(program)},
          {"ports", list_of(forwarder_.ports(), [](const PortReport& port) { return to_json(port); })}};
}

json SwitchControl::stats() {
  json pipeline = nullptr;
  json tables = json::array();
  if (const auto view = device_.pipeline()) {
    pipeline = {{"packets_in", view->packets_in}, {"packets_out", view->packets_out}, {"drops", view->drops}};
    for (const auto& table : view->tables)
      tables.push_back({{"name", table.name},
                        {"entries", table.entries},
                        {"size", table.size},
                        {"hits", table.hits},
                        {"misses", table.misses}});
  }
  return {{"epoch", epoch_},
          {"t_ns", monotonic_ns()},
          {"cpu_ns", cpu_ns()},
          {"ports", list_of(forwarder_.ports(), with_figures)},
          {"unrouted", forwarder_.unrouted()},
          {"pipeline", std::move(pipeline)},
          {"tables", std::move(tables)},
          {"p4runtime", to_json(device_.stats())}};
}

json SwitchControl::set_ports(const json& params) {
  JsonFields fields(params, "", kBad);
  const auto configs = read_ports(fields.array("ports", 0, kPortNumbers - 2));
  fields.done();
  forwarder_.set_ports(configs);
  return {{"ports", list_of(forwarder_.ports(), [](const PortReport& port) { return to_json(port); })}};
}

std::vector<PortConfig> SwitchControl::read_ports(const json& list) const {
  std::vector<PortConfig> configs;
  std::set<uint32_t> numbers;
  std::set<std::string> interfaces;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonFields fields(list[i], "/ports/" + std::to_string(i), kBad);
    const auto number = static_cast<uint32_t>(fields.integer("number", 0, kPortNumbers - 1));
    configs.push_back({number, fields.string("name", kMostName), fields.string("interface", kMostInterface)});
    fields.done();
    if (number == arguments_.cpu_port) fields.fail("number", "is the CPU port");
    if (number == arguments_.drop_port) fields.fail("number", "is the drop port");
    if (!numbers.insert(number).second) fields.fail("number", "is used twice");
    if (configs.back().interface.empty()) fields.fail("interface", "is empty");
    if (!interfaces.insert(configs.back().interface).second) fields.fail("interface", "is used twice");
  }
  return configs;
}

}  // namespace orrery::p4
