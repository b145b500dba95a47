// SPDX-License-Identifier: Apache-2.0
#include "nfs/monitor/monitor_core.h"

#include <algorithm>
#include <array>

#include "nfs/config_reader.h"
#include "nfs/flow_rows.h"
#include "support/clock.h"
#include "support/flow_table.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr size_t kBatch = 32;
constexpr uint32_t kMaxFlows = 1u << 20;
constexpr uint32_t kExpiriesPerBatch = 4;
// A row of this NF is longer than that of others.
constexpr size_t kMaxRows = kMaxExportedFlows / 2;

struct FlowCount {
  uint64_t packets;
  uint64_t bytes;
  uint64_t first_seen_ns;
};

using FlowCounts = FlowTable<FlowTuple, FlowCount>;

struct Count {
  uint64_t packets = 0;
  uint64_t bytes = 0;

  void add(uint64_t length) {
    ++packets;
    bytes += length;
  }
  json to_json() const { return {{"packets", packets}, {"bytes", bytes}}; }
};

struct Config {
  uint32_t max_flows;
  uint64_t idle_ns;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  config.max_flows = static_cast<uint32_t>(reader.integer("max_flows", 1, kMaxFlows, 65536));
  config.idle_ns = reader.integer("idle_timeout_s", 1, 86400, 60) * 1'000'000'000u;
  reader.finish();
  return config;
}

class Monitor final : public NfCore {
 public:
  explicit Monitor(const Config& config) : config_(config), flows_(config.max_flows, config.idle_ns / 64) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    expired_ += flows_.expire(now_ns, config_.idle_ns, kExpiriesPerBatch, [](const auto&) {});
    for (size_t begin = 0; begin < packets.size(); begin += kBatch)
      count_batch(packets.subspan(begin, std::min(packets.size() - begin, kBatch)), now_ns);
    for (NfVerdict& verdict : verdicts) verdict = {.drop = false, .drop_reason = 0, .out = in};
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  // A smaller table keeps the youngest flows.
  std::unique_ptr<NextConfig> prepare(const json& value) const override {
    return std::make_unique<Next>(read_config(value));
  }

  void take(NextConfig& next) noexcept override {
    auto& [config, flows, keep] = static_cast<Next&>(next);
    flows_.for_each([&](const FlowCounts::Entry& e) {
      keep.push_back(&e);
      return keep.size() < config.max_flows;
    });
    std::ranges::reverse(keep);
    for (const auto* e : keep) flows.insert(e->key, flows.hash(e->key), e->last_seen_ns).value = e->value;
    evicted_ += flows_.size() - flows.size();
    config_ = config;
    std::swap(flows_, flows);
  }

  // Flows by bytes, the largest first.
  json state(size_t limit) const override {
    std::vector<const FlowCounts::Entry*> top;
    top.reserve(flows_.size());
    flows_.for_each([&](const FlowCounts::Entry& e) {
      top.push_back(&e);
      return true;
    });
    const auto end = top.begin() + static_cast<ptrdiff_t>(std::min(limit, top.size()));
    std::ranges::partial_sort(top, end, std::greater{}, [](const auto* e) { return e->value.bytes; });
    json flows = json::array();
    for (auto it = top.begin(); it != end; ++it) {
      const FlowCounts::Entry& e = **it;
      flows.push_back({{"src", address_text(e.key.src)},
                       {"dst", address_text(e.key.dst)},
                       {"proto", e.key.proto},
                       {"src_port", e.key.src_port},
                       {"dst_port", e.key.dst_port},
                       {"packets", e.value.packets},
                       {"bytes", e.value.bytes},
                       {"first_seen_ms", wall_ms_at(e.value.first_seen_ns)},
                       {"last_seen_ms", wall_ms_at(e.last_seen_ns)}});
    }
    return {{"flow_count", flows_.size()}, {"max_flows", flows_.capacity()},    {"flows_created", created_},
            {"flows_expired", expired_},   {"flows_evicted", evicted_},         {"ip", ip_.to_json()},
            {"non_ip", non_ip_.to_json()}, {"malformed", malformed_.to_json()}, {"flows", std::move(flows)}};
  }

  // Rows of [src, dst, src port, dst port, proto, packets, bytes, ms since the first packet, idle ms], youngest first.
  json export_state() const override {
    const uint64_t now_ns = monotonic_ns();
    json flows = json::array();
    flows_.for_each([&](const FlowCounts::Entry& e) {
      flows.push_back({e.key.src, e.key.dst, e.key.src_port, e.key.dst_port, e.key.proto, e.value.packets,
                       e.value.bytes, age_ms(now_ns, e.value.first_seen_ns), age_ms(now_ns, e.last_seen_ns)});
      return flows.size() < kMaxRows;
    });
    return {{"flows", std::move(flows)}};
  }

  // Adds to the counts of a flow that is known here already.
  void import_state(const json& state) override {
    ConfigReader reader(state, "");
    const auto& rows = reader.array("flows", kMaxRows);
    reader.finish();
    constexpr uint64_t kMax[] = {UINT32_MAX, UINT32_MAX, UINT16_MAX, UINT16_MAX, 255,
                                 INT64_MAX,  INT64_MAX,  kMaxAgeMs,  kMaxAgeMs};
    const auto flows = read_rows(rows, reader.at("flows"), kMax);
    const uint64_t now_ns = monotonic_ns();
    for (auto row = flows.rbegin(); row != flows.rend(); ++row) {
      const auto& r = *row;
      const FlowTuple key{static_cast<uint32_t>(r[0]), static_cast<uint32_t>(r[1]), static_cast<uint16_t>(r[2]),
                          static_cast<uint16_t>(r[3]), static_cast<uint32_t>(r[4])};
      const uint32_t hash = flows_.hash(key);
      FlowCounts::Entry* entry = flows_.find(key, hash);
      const uint64_t first_seen_ns = time_at_age(now_ns, r[7]);
      if (entry == nullptr) {
        entry = &insert(key, hash, time_at_age(now_ns, r[8]));
        entry->value.first_seen_ns = first_seen_ns;
      }
      entry->value.packets += r[5];
      entry->value.bytes += r[6];
      entry->value.first_seen_ns = std::min(entry->value.first_seen_ns, first_seen_ns);
    }
  }

 private:
  void count_batch(std::span<const NfPacket> packets, uint64_t now_ns) {
    std::array<FlowTuple, kBatch> keys;
    std::array<uint32_t, kBatch> hashes;
    std::array<uint32_t, kBatch> lengths;
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
          keys[count] = FlowTuple::of(packet.parsed);
          lengths[count++] = packet.length;
      }
    }
    for (size_t n = 0; n < count; ++n) {
      hashes[n] = flows_.hash(keys[n]);
      flows_.prefetch(hashes[n]);
    }
    for (size_t n = 0; n < count; ++n) flows_.prefetch_entry(hashes[n]);
    for (size_t n = 0; n < count; ++n) {
      FlowCounts::Entry* entry = flows_.find(keys[n], hashes[n]);
      if (entry == nullptr) {
        entry = &insert(keys[n], hashes[n], now_ns);
        entry->value.first_seen_ns = now_ns;
      } else {
        flows_.touch(*entry, now_ns);
      }
      ++entry->value.packets;
      entry->value.bytes += lengths[n];
    }
  }

  // Makes room by forgetting the flow that has been idle longest.
  FlowCounts::Entry& insert(const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    if (flows_.full()) {
      flows_.erase(*flows_.oldest());
      ++evicted_;
    }
    ++created_;
    return flows_.insert(key, hash, now_ns);
  }

  struct Next final : NextConfig {
    explicit Next(const Config& of) : config(of), flows(config.max_flows, config.idle_ns / 64) {
      keep.reserve(config.max_flows);
    }
    Config config;
    FlowCounts flows;
    std::vector<const FlowCounts::Entry*> keep;
  };

  Config config_;
  FlowCounts flows_;
  uint64_t created_ = 0;
  uint64_t expired_ = 0;
  uint64_t evicted_ = 0;
  Count ip_;
  Count non_ip_;
  Count malformed_;
};

}  // namespace

std::unique_ptr<NfCore> make_monitor(const json& config, std::span<const MetadataField>) {
  return std::make_unique<Monitor>(read_config(config));
}

}  // namespace orrery
