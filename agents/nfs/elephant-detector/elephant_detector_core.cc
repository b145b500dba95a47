// SPDX-License-Identifier: Apache-2.0
#include "nfs/elephant-detector/elephant_detector_core.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/ip_frame.h"
#include "nfs/movable_flows.h"

namespace orrery::elephant_detector {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxBytes = UINT32_MAX;  // as on a board
constexpr uint8_t kUnset = 0, kMouse = 1, kElephant = 2;

// Of flow state: src, dst, src port, dst port, proto, bytes in the window, elephant, ms since the window began, idle
// ms; youngest first.
constexpr auto kRow = flow_layout(kMaxBytes, 1u, kMaxAgeMs, kMaxAgeMs);

// An elephant's window does not end.
struct FlowSize {
  uint64_t window_began_ns;
  uint64_t window_bytes;  // at most kMaxBytes
  bool elephant;
};

using FlowSizes = FlowStore<FlowTuple, FlowSize>;

struct Config {
  uint64_t threshold_bytes;
  uint64_t window_ns;
  FlowLimits flows;  // exactly in order of last use
};

struct Counters {
  uint64_t found = 0;
  uint64_t mice = 0;
  uint64_t elephant_packets = 0;
  uint64_t malformed = 0;
  uint64_t non_ip = 0;
};

struct Figures {
  FlowFigures flows;
  Counters counters;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  config.threshold_bytes = reader.integer_or("threshold_bytes", 1, kMaxBytes, 1u << 20);
  config.window_ns = reader.integer_or("window_ms", 1, 60000, 1000) * 1'000'000u;
  config.flows.idle_ns = reader.integer_or("idle_timeout_s", 1, 43200, 60) * 1'000'000'000u;
  config.flows.max_flows = static_cast<uint32_t>(reader.integer_or("max_flows", 1, kMaxFlows, 4096));
  config.flows.granularity_ns = 0;
  reader.done();
  return config;
}

auto row_of_flow(const FlowSizes::Flow& f, uint64_t now_ns) {
  return row_of(f.key, f.value.window_bytes, uint64_t{f.value.elephant}, age_ms(now_ns, f.value.window_began_ns),
                age_ms(now_ns, f.last_seen_ns));
}

class ElephantDetector final : public NfCore {
 public:
  ElephantDetector(const Config& config, std::span<const MetadataField> metadata)
      : bits_(bits_of(metadata)), config_(config), flows_(config.flows) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    flows_.expire(now_ns);
    for (size_t begin = 0; begin < packets.size(); begin += kFlowBatch)
      size_batch(packets.subspan(begin, std::min(packets.size() - begin, kFlowBatch)), in, now_ns);
    for (NfVerdict& verdict : verdicts) verdict = {.drop = false, .drop_reason = 0, .out = in};
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField> metadata) const override {
    return std::make_unique<Next>(flows_, read_config(value), bits_of(metadata));
  }

  // A smaller table keeps the youngest flows.
  void take(NextConfig& next) noexcept override {
    auto& [config, bits, flows] = static_cast<Next&>(next);
    config_ = config;
    bits_ = bits;
    flows_.take(flows);
  }

  // Elephants first, the flow with most bytes in its window before others.
  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_flow_store(
        flows_,
        [this] {
          return Figures{flows_.figures(), counters_};
        },
        [limit](auto& flows, const Figures& figures, RowForm) { return view(flows, figures, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return export_flows(flows_, kRow, row_of_flow); }
  MovableTables movable_flows() override { return movable_flows_of(flows_, kRow, row_of_flow); }

  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    return import_flows(
        flows_, state, kRow, known,
        [](const auto& r, uint64_t now_ns) {
          const auto [bytes, elephant, window_ms, idle_ms] = numbers_behind_flow(r);
          return FlowSizes::Flow{
              flow_of_row(r), {time_at_age(now_ns, window_ms), bytes, elephant == 1}, time_at_age(now_ns, idle_ms)};
        },
        [](const auto&, const auto&) {});
  }

 private:
  static ClassBits bits_of(std::span<const MetadataField> metadata) {
    return ClassBits(metadata, "size", {"mouse", "elephant"});
  }

  static json view(std::vector<FlowSizes::Flow>& flows, const Figures& figures, size_t limit) {
    const auto elephants = std::ranges::count_if(flows, [](const auto& f) { return f.value.elephant; });
    json rows = json::array();
    for (const auto& f :
         largest(flows, limit, [](const auto& f) { return std::tuple(f.value.elephant, f.value.window_bytes); })) {
      json& row = rows.emplace_back(flow_json(f.key));
      row["size"] = f.value.elephant ? "elephant" : "mouse";
      row["window_bytes"] = f.value.window_bytes;
      row["last_seen_ms"] = wall_ms_at(f.last_seen_ns);
    }
    const auto& [of, counters] = figures;
    return {{"flow_count", of.size},           {"max_flows", of.capacity},
            {"elephants", elephants},          {"elephants_found", counters.found},
            {"flows_expired", of.expired},     {"flows_evicted", of.evicted + of.lost_by_resize + of.lost_by_import},
            {"mouse_packets", counters.mice},  {"elephant_packets", counters.elephant_packets},
            {"malformed", counters.malformed}, {"non_ip", counters.non_ip},
            {"flows", std::move(rows)}};
  }

  void size_batch(std::span<NfPacket> packets, Direction in, uint64_t now_ns) {
    std::array<FlowTuple, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes;
    for (size_t i = 0; i < packets.size(); ++i) set_flow(keys[i], packets[i].parsed, in);
    flows_.look_up({keys.data(), packets.size()}, hashes);
    for (size_t i = 0; i < packets.size(); ++i)
      bits_.write(packets[i].metadata, size_of(packets[i], keys[i], hashes[i], now_ns));
  }

  uint8_t size_of(const NfPacket& packet, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    const PacketKind kind = packet.parsed.kind;
    if (kind == PacketKind::kNonIp) {
      ++counters_.non_ip;
      return kUnset;
    }
    if (kind == PacketKind::kMalformed) {
      ++counters_.malformed;
      return kUnset;
    }
    const bool elephant = count(key, hash, packet.parsed.ip_length(), now_ns);
    ++(elephant ? counters_.elephant_packets : counters_.mice);
    return elephant ? kElephant : kMouse;
  }

  // Whether the flow is an elephant with these bytes.
  bool count(const FlowTuple& key, uint32_t hash, uint16_t ip_bytes, uint64_t now_ns) {
    FlowSizes::Entry& entry = entry_of(key, hash, now_ns);
    FlowSize& flow = entry.value;
    const uint64_t began_ns = flow.window_began_ns;
    if (!flow.elephant && now_ns > began_ns && now_ns - began_ns >= config_.window_ns) {
      flow.window_began_ns = now_ns;
      flow.window_bytes = 0;
    }
    flow.window_bytes = std::min(flow.window_bytes + ip_bytes, kMaxBytes);
    if (!flow.elephant && flow.window_bytes >= config_.threshold_bytes) {
      flow.elephant = true;
      ++counters_.found;
    }
    return flow.elephant;
  }

  // The flow of a packet; a new one where there is none or it was idle for too long.
  FlowSizes::Entry& entry_of(const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    if (FlowSizes::Entry* entry = flows_.find(key, hash)) {
      if (flows_.idle_too_long(*entry, now_ns)) {
        entry->value = {now_ns, 0, false};
        flows_.count_expired();
      }
      flows_.touch(*entry, now_ns);
      return *entry;
    }
    FlowSizes::Entry& entry = flows_.insert_evicting(key, hash, now_ns);
    entry.value.window_began_ns = now_ns;
    return entry;
  }

  struct Next final : NextConfig {
    Next(const FlowSizes& from, const Config& of, const ClassBits& where)
        : config(of), bits(where), flows(from, config.flows) {}
    Config config;
    ClassBits bits;
    FlowSizes::Resize flows;
  };

  ClassBits bits_;
  Config config_;
  FlowSizes flows_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<ElephantDetector>(read_config(config), metadata);
}

}  // namespace orrery::elephant_detector
