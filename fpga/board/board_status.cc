// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include "board/board.h"
#include "board/sim/shell_build.h"
#include "board/slot/registers.h"
#include "support/clock.h"

namespace orrery::board {
namespace {

using nlohmann::json;

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string id_text(uint32_t id) {
  return {static_cast<char>(id >> 24), static_cast<char>(id >> 16), static_cast<char>(id >> 8), static_cast<char>(id)};
}

std::string version_text(uint32_t v) {
  return std::to_string(v >> 16 & 255) + '.' + std::to_string(v >> 8 & 255) + '.' + std::to_string(v & 255);
}

json module_json(const ModuleInfo& module) {
  return {{"name", module.name},
          {"uuid", to_string(module.uuid)},
          {"version", version_text(module.version)},
          {"id", id_text(module.id)}};
}

const char* side_name(Side side) {
  return side == kNear ? "near" : "far";
}

json interface_of(const std::vector<PortOption>& ports, size_t slot, Side side) {
  for (const PortOption& port : ports)
    if (port.slot == slot && port.side == side) return port.interface;
  return nullptr;
}

json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

json port_json(const Ports::Port& port, Simulation& simulation, bool powered) {
  const PortCounters& c = port.socket->counters();
  const Simulation::Queue& queue = simulation.queue(port.slot, port.side);
  return {{"slot", port.slot},
          {"side", side_name(port.side)},
          {"interface", port.socket->interface()},
          {"up", port.socket->up() && powered},
          {"rx", c.rx},
          {"rx_bytes", c.rx_bytes},
          {"tx", c.tx},
          {"tx_bytes", c.tx_bytes},
          {"drops",
           {{"kernel", c.drop_kernel},
            {"too_long", c.drop_long},
            {"not_configured", port.lost_off},
            {"tx_full", c.drop_tx_full},
            {"oversize", c.drop_oversize},
            {"link_down", c.drop_link_down},
            {"cut_off", queue.out_errors}}}};
}

}  // namespace

json Board::describe() const {
  json slots = json::array();
  for (size_t n = 0; n < profile_.regions.size(); ++n)
    slots.push_back({{"slot", n},
                     {"region", profile_.regions[n].name},
                     {"resources", to_json(profile_.regions[n].resources)},
                     {"near", interface_of(options_.ports, n, kNear)},
                     {"far", interface_of(options_.ports, n, kFar)}});
  json library = json::array();
  for (const ModuleInfo& module : library_.modules()) library.push_back(module_json(module));
  return {{"id", options_.id},
          {"emulated", true},
          {"profile", profile_.name},
          {"title", profile_.title},
          {"device", profile_.device},
          {"family", profile_.family},
          {"clock_hz", uint64_t{profile_.clock_mhz} * 1'000'000},
          {"resources", to_json(profile_.resources)},
          {"dma_bytes_per_s", profile_.dma_bytes_per_s},
          {"dma_latency_us", profile_.dma_latency_us},
          {"port_mbps", profile_.port_mbps},
          {"shell_uuid", to_string(shell_build(profile_.regions.size(), profile_.clock_mhz).uuid)},
          {"time_scale", options_.time_scale},
          {"slots", std::move(slots)},
          {"library", std::move(library)}};
}

json Board::slot_status(size_t n) {
  const Slot& slot = device_.slot(n);
  const auto& c = slot.counters.value;
  json drops = json::array();
  if (device_.has_registers(n))
    for (int i = 0; i < reg::kDropRegisters; ++i)
      if (const auto value = device_.read(n, static_cast<uint16_t>(reg::kDrops + 4 * i))) drops.push_back(*value);
  json load = nullptr;
  if (loader_.busy()) {
    const LoadRecord& record = *loader_.last();
    if (!record.request.slot || *record.request.slot == n)
      load = {{"kind", to_string(record.request.kind)},
              {"bytes", record.bytes},
              {"bytes_total", record.bytes_total},
              {"policy", to_string(record.request.policy)}};
  }
  return {{"slot", n},
          {"state", to_string(slot.state)},
          {"module", slot.module ? module_json(*slot.module) : json(nullptr)},
          {"load", std::move(load)},
          {"counters",
           {{"frames_in", c[SlotCounters::kFramesIn]},
            {"bytes_in", c[SlotCounters::kBytesIn]},
            {"frames_out", c[SlotCounters::kFramesOut]},
            {"bytes_out", c[SlotCounters::kBytesOut]},
            {"dropped", c[SlotCounters::kFramesDropped]},
            {"bypassed", c[SlotCounters::kFramesBypassed]},
            {"aborted", c[SlotCounters::kFramesAborted]},
            {"no_hop", c[SlotCounters::kNoHop]},
            {"held", slot.state == SlotState::kActive ? 0 : ports_.backlog(device_.simulation(), n)},
            {"module_drops", std::move(drops)}}},
          {"error", text_or_null(slot.error)}};
}

json Board::load_status() {
  if (!loader_.last()) return nullptr;
  const LoadRecord& record = *loader_.last();
  InterruptionCount sum;
  for (size_t n = 0; n < interruptions_.size(); ++n) {
    if (record.request.slot && *record.request.slot != n) continue;
    const InterruptionCount count = interruptions_[n] ? interruptions_[n]->so_far() : counted_[n];
    sum.held += count.held;
    sum.lost += count.lost;
    sum.bypassed += count.bypassed;
  }
  return {{"id", record.id},
          {"slot", record.request.slot ? json(*record.request.slot) : json(nullptr)},
          {"kind", to_string(record.request.kind)},
          {"policy", to_string(record.request.policy)},
          {"state", record.state},
          {"error", text_or_null(record.error)},
          {"modelled_s", record.modelled_s},
          {"measured_s", record.measured_s},
          {"held", sum.held},
          {"lost", sum.lost},
          {"bypassed", sum.bypassed},
          {"bytes", record.bytes},
          {"bytes_total", record.bytes_total}};
}

json Board::slowdown() const {
  if (work_since_status_.cycles == 0) return nullptr;
  const double board_ns = static_cast<double>(work_since_status_.cycles) * 1000 / profile_.clock_mhz;
  return static_cast<double>(work_since_status_.wall_ns) / board_ns;
}

json Board::status() {
  device_.update_counters();
  json slots = json::array();
  for (size_t n = 0; n < device_.slots(); ++n) slots.push_back(slot_status(n));
  json ports = json::array();
  for (const Ports::Port& port : ports_.all())
    ports.push_back(port_json(port, device_.simulation(), device_.powered()));
  const Simulation& simulation = device_.simulation();
  json slowdown_now = slowdown();
  work_since_status_ = {};
  return {{"board",
           {{"state", loader_.board_state()},
            {"cycles", simulation.cycles()},
            {"board_ns", simulation.board_ns()},
            {"wall_ns", monotonic_ns() - start_ns_},
            {"slowdown", std::move(slowdown_now)},
            {"cpu_s", cpu_s()},
            {"events_lost", events_.lost()}}},
          {"slots", std::move(slots)},
          {"ports", std::move(ports)},
          {"last_load", load_status()}};
}

}  // namespace orrery::board
