// SPDX-License-Identifier: Apache-2.0
#include "nfs/sqli-detector/sqli_detector_core.h"

#include <algorithm>
#include <array>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/ip_frame.h"
#include "nfs/patterns/payload_search.h"
#include "nfs/recent.h"
#include "sqli_patterns.h"  // made from fpga/rtl/nf_sqli_detector/patterns.txt

namespace orrery::sqli_detector {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"attack", "blocked"};
constexpr uint8_t kDropAttack = 0, kDropBlocked = 1;
constexpr size_t kPatterns = std::size(kSqliPatterns);
constexpr size_t kMaxPorts = 4;
constexpr size_t kAlerts = 64;
constexpr uint8_t kUnset = 0, kClean = 1, kAttack = 2;
// Ahead of the packet that is searched: its payload is fetched from memory meanwhile.
constexpr size_t kPrefetchDistance = 4;

struct Config {
  std::array<uint16_t, kMaxPorts> ports{};  // unused: 0
  bool drop;
  std::optional<StreamLimits> streams;  // nothing: packets are searched one by one
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  const auto& ports = reader.array_or_empty("ports", kMaxPorts);
  config.drop = reader.boolean_or("drop", false);
  config.streams = read_stream_limits(reader);
  reader.done();
  if (!value.contains("ports")) {
    config.ports[0] = 80;
    return config;
  }
  if (ports.empty()) throw ConfigError(reader.pointer_to("ports"), "must name at least one port");
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto port = as_integer(ports[i]);
    if (!port || *port == 0 || *port > UINT16_MAX)
      throw ConfigError(reader.pointer_to("ports", i), "must be a port from 1 to 65535");
    if (std::ranges::find(config.ports, *port) != config.ports.end())
      throw ConfigError(reader.pointer_to("ports", i), "appears twice");
    config.ports[i] = static_cast<uint16_t>(*port);
  }
  return config;
}

std::vector<Pattern> patterns_to_find() {
  std::vector<Pattern> patterns;
  for (const SqliPattern& pattern : kSqliPatterns)
    patterns.push_back({std::string("(?s)") + pattern.expression, true, true, pattern.name});
  return patterns;
}

std::unique_ptr<PayloadSearch> search_for(const std::optional<StreamLimits>& streams) {
  return std::make_unique<PayloadSearch>(patterns_to_find(), streams);
}

// A packet with at least one pattern; bit n of `patterns` is pattern n.
struct Alert {
  uint64_t at_ns;
  FlowTuple flow;
  uint32_t patterns;
};

struct Counters {
  std::array<uint64_t, kPatterns> hits{};  // packets with each pattern
  Recent<Alert, kAlerts> alerts;           // one for each attack
  uint64_t searched = 0;
  uint64_t clean = 0;
  uint64_t malformed = 0;
  uint64_t non_ip = 0;
  uint64_t not_searchable = 0;  // the matcher gave up
};

struct Figures {
  Counters counters;
  PayloadSearch::Figures search;
};

class SqliDetector final : public NfCore {
 public:
  SqliDetector(const Config& config, std::span<const MetadataField> metadata)
      : bits_(bits_of(metadata)), config_(config), search_(search_for(config.streams)) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    search_->expire(now_ns);
    for (size_t i = 0; i < packets.size(); ++i) {
      const NfPacket& ahead = packets[std::min(i + kPrefetchDistance, packets.size() - 1)];
      __builtin_prefetch(ahead.data + ahead.parsed.payload_offset);
      blocked_ = false;
      const uint8_t klass = judge(packets[i], now_ns);
      bits_.write(packets[i].metadata, klass);
      const bool attack = klass == kAttack;
      verdicts[i] = {
          .drop = config_.drop && (attack || blocked_), .drop_reason = attack ? kDropAttack : kDropBlocked, .out = in};
      // What was dropped is sent again: a stream with a part of it behind would be another than the one searched.
      if (attack && config_.drop) search_->block(packets[i]);
    }
  }

  bool reads_streams() const override { return search_->reads_streams(); }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField> metadata) const override {
    const Config config = read_config(value);
    return std::make_unique<Next>(config, bits_of(metadata), config.streams == config_.streams);
  }

  void take(NextConfig& next) noexcept override {
    auto& [config, bits, search] = static_cast<Next&>(next);
    config_ = config;
    bits_ = bits;
    if (search != nullptr) std::swap(search_, search);
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures(
        [this] {
          return Figures{counters_, search_->figures()};
        },
        [this, limit](const Figures& figures, RowForm) {
          json out = view(figures.counters, limit);
          if (config_.streams) {
            PayloadSearch::write(figures.search, out);
            out["blocked"] = figures.search.blocked;
          }
          return out;
        });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override { return import_no_flows(state); }

 private:
  static ClassBits bits_of(std::span<const MetadataField> metadata) {
    return ClassBits(metadata, "verdict", {"clean", "attack"});
  }

  // Alerts: the newest first.
  static json view(const Counters& counters, size_t limit) {
    json patterns = json::array();
    for (size_t i = 0; i < std::min(limit, kPatterns); ++i)
      patterns.push_back({{"name", kSqliPatterns[i].name}, {"packets", counters.hits[i]}});
    json alerts = json::array();
    counters.alerts.for_each(limit, [&](const Alert& alert) { alerts.push_back(alert_json(alert)); });
    return {{"searched", counters.searched},      {"clean", counters.clean},
            {"attacks", counters.alerts.count()}, {"malformed", counters.malformed},
            {"non_ip", counters.non_ip},          {"not_searchable", counters.not_searchable},
            {"patterns", std::move(patterns)},    {"alerts", std::move(alerts)}};
  }

  static json alert_json(const Alert& alert) {
    json names = json::array();
    for (size_t i = 0; i < kPatterns; ++i)
      if (alert.patterns >> i & 1) names.push_back(kSqliPatterns[i].name);
    json row = flow_json(alert.flow);
    row.erase("proto");
    row["at_ms"] = wall_ms_at(alert.at_ns);
    row["patterns"] = std::move(names);
    return row;
  }

  struct Next final : NextConfig {
    Next(const Config& of, const ClassBits& where, bool searches_alike)
        : config(of), bits(where), search(searches_alike ? nullptr : search_for(of.streams)) {}
    Config config;
    ClassBits bits;
    std::unique_ptr<PayloadSearch> search;  // null: as before
  };

  uint8_t judge(const NfPacket& packet, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    if (!is_ip(p)) {
      ++counters_.non_ip;
      return kUnset;
    }
    counters_.malformed += p.kind == PacketKind::kMalformed;
    const uint32_t patterns = is_searched(p) ? search(packet, now_ns) : 0;
    if (patterns == 0) {
      ++counters_.clean;
      return kClean;
    }
    counters_.alerts.add() = {now_ns, FlowTuple::of(p), patterns};
    return kAttack;
  }

  bool is_searched(const ParsedPacket& p) const {
    return p.dst_port != 0 && is_tcp(p) && std::ranges::find(config_.ports, p.dst_port) != config_.ports.end();
  }

  // The patterns that the packet holds or completes, each counted.
  uint32_t search(const NfPacket& packet, uint64_t now_ns) {
    ++counters_.searched;
    found_ = 0;
    const auto [whole, blocked] = search_->search(
        packet, now_ns, [](void* self, uint32_t pattern) { static_cast<SqliDetector*>(self)->found_ |= 1u << pattern; },
        this);
    blocked_ = blocked && packet.parsed.payload_length > 0;
    counters_.not_searchable += !whole;
    for (uint32_t rest = found_; rest != 0; rest &= rest - 1)
      ++counters_.hits[static_cast<size_t>(std::countr_zero(rest))];
    return found_;
  }

  ClassBits bits_;
  Config config_;
  std::unique_ptr<PayloadSearch> search_;
  uint32_t found_ = 0;    // in the packet at hand
  bool blocked_ = false;  // is its stream
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<SqliDetector>(read_config(config), metadata);
}

}  // namespace orrery::sqli_detector
