// SPDX-License-Identifier: Apache-2.0
#include "nfs/monitor/monitor_core.h"

#include <algorithm>
#include <array>

#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/movable_flows.h"

namespace orrery::monitor {
namespace {

using nlohmann::json;

// Of flow state: src, dst, src port, dst port, proto, packets, bytes, ms since the first packet, idle ms; youngest
// first.
constexpr uint64_t kMaxCount = INT64_MAX;
constexpr auto kRow = flow_layout(kMaxCount, kMaxCount, kMaxAgeMs, kMaxAgeMs);

uint64_t sum_of(uint64_t a, uint64_t b) {
  return std::min(std::min(a, kMaxCount) + std::min(b, kMaxCount), kMaxCount);
}

struct FlowCount {
  uint64_t packets;
  uint64_t bytes;
  uint64_t first_seen_ns;
};

using FlowCounts = FlowStore<FlowTuple, FlowCount>;

struct Count {
  uint64_t packets = 0;
  uint64_t bytes = 0;

  void add(uint64_t length) {
    ++packets;
    bytes += length;
  }
  json to_json() const { return {{"packets", packets}, {"bytes", bytes}}; }
};

struct Figures {
  FlowFigures flows;
  Count ip;
  Count non_ip;
  Count malformed;
};

FlowLimits read_config(const json& value) {
  ConfigReader reader(value, "");
  const auto max_flows = static_cast<uint32_t>(reader.integer_or("max_flows", 1, kMaxFlows, 65536));
  const uint64_t idle_ns = reader.integer_or("idle_timeout_s", 1, 86400, 60) * 1'000'000'000u;
  reader.done();
  return {max_flows, idle_ns, idle_ns / 64};
}

auto row_of_flow(const FlowCounts::Flow& f, uint64_t now_ns) {
  return row_of(f.key, std::min(f.value.packets, kMaxCount), std::min(f.value.bytes, kMaxCount),
                age_ms(now_ns, f.value.first_seen_ns), age_ms(now_ns, f.last_seen_ns));
}

class Monitor final : public NfCore {
 public:
  explicit Monitor(const FlowLimits& limits) : flows_(limits) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    flows_.expire(now_ns);
    for (size_t begin = 0; begin < packets.size(); begin += kFlowBatch)
      count_batch(packets.subspan(begin, std::min(packets.size() - begin, kFlowBatch)), now_ns);
    for (NfVerdict& verdict : verdicts) verdict = {.drop = false, .drop_reason = 0, .out = in};
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField>) const override {
    return std::make_unique<Next>(flows_, read_config(value));
  }

  // A smaller table keeps the youngest flows.
  void take(NextConfig& next) noexcept override { flows_.take(static_cast<Next&>(next).flows); }

  // Flows by bytes, the largest first.
  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_flow_store(
        flows_,
        [this] {
          return Figures{flows_.figures(), ip_, non_ip_, malformed_};
        },
        [limit](auto& flows, const Figures& figures, RowForm) {
          json rows = json::array();
          for (const auto& f : largest(flows, limit, [](const auto& f) { return f.value.bytes; })) {
            json& row = rows.emplace_back(flow_json(f.key));
            row["packets"] = f.value.packets;
            row["bytes"] = f.value.bytes;
            row["first_seen_ms"] = wall_ms_at(f.value.first_seen_ns);
            row["last_seen_ms"] = wall_ms_at(f.last_seen_ns);
          }
          const FlowFigures& of = figures.flows;
          return json{{"flow_count", of.size},
                      {"max_flows", of.capacity},
                      {"flows_created", of.created},
                      {"flows_expired", of.expired},
                      {"flows_evicted", of.evicted + of.lost_by_resize + of.lost_by_import},
                      {"ip", figures.ip.to_json()},
                      {"non_ip", figures.non_ip.to_json()},
                      {"malformed", figures.malformed.to_json()},
                      {"flows", std::move(rows)}};
        });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return export_flows(flows_, kRow, row_of_flow); }
  MovableTables movable_flows() override { return movable_flows_of(flows_, kRow, row_of_flow); }

  // Adds to the counts of a flow that is known here already.
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    return import_flows(
        flows_, state, kRow, known,
        [](const auto& r, uint64_t now_ns) {
          const auto [packets, bytes, first_ms, idle_ms] = numbers_behind_flow(r);
          return FlowCounts::Flow{
              flow_of_row(r), {packets, bytes, time_at_age(now_ns, first_ms)}, time_at_age(now_ns, idle_ms)};
        },
        [](FlowCounts::Entry& here, const FlowCounts::Flow& flow) {
          here.value.packets = sum_of(here.value.packets, flow.value.packets);
          here.value.bytes = sum_of(here.value.bytes, flow.value.bytes);
          here.value.first_seen_ns = std::min(here.value.first_seen_ns, flow.value.first_seen_ns);
        });
  }

 private:
  void count_batch(std::span<const NfPacket> packets, uint64_t now_ns) {
    std::array<FlowTuple, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes;
    std::array<uint32_t, kFlowBatch> lengths;
    size_t count = 0;
    for (const NfPacket& packet : packets) {
      switch (packet.parsed.kind) {
        case PacketKind::kMalformed:
          malformed_.add(packet.length);
          break;
        case PacketKind::kNonIp:
          non_ip_.add(packet.length);
          break;
        default:
          ip_.add(packet.length);
          keys[count].set(packet.parsed);
          lengths[count++] = packet.length;
      }
    }
    flows_.look_up({keys.data(), count}, hashes);
    for (size_t n = 0; n < count; ++n) {
      FlowCounts::Entry* entry = flows_.find(keys[n], hashes[n]);
      if (entry == nullptr) {
        entry = &flows_.insert_evicting(keys[n], hashes[n], now_ns);
        entry->value.first_seen_ns = now_ns;
      } else {
        flows_.touch(*entry, now_ns);
      }
      ++entry->value.packets;
      entry->value.bytes += lengths[n];
    }
  }

  struct Next final : NextConfig {
    Next(const FlowCounts& from, const FlowLimits& limits) : flows(from, limits) {}
    FlowCounts::Resize flows;
  };

  FlowCounts flows_;
  Count ip_;
  Count non_ip_;
  Count malformed_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  return std::make_unique<Monitor>(read_config(config));
}

}  // namespace orrery::monitor
