// SPDX-License-Identifier: Apache-2.0
#include "nfs/sqli-detector/sqli_detector_core.h"

#include <algorithm>
#include <array>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/ids/matcher.h"
#include "nfs/ipv4_frame.h"
#include "nfs/recent.h"
#include "sqli_patterns.h"  // made from fpga/rtl/nf_sqli_detector/patterns.txt

namespace orrery::sqli_detector {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"attack"};
constexpr size_t kPatterns = std::size(kSqliPatterns);
constexpr size_t kMaxPorts = 4;
constexpr size_t kAlerts = 64;
constexpr uint8_t kUnset = 0, kClean = 1, kAttack = 2;
// Ahead of the packet that is searched: its payload is fetched from memory meanwhile.
constexpr size_t kPrefetchDistance = 4;

struct Config {
  std::array<uint16_t, kMaxPorts> ports{};  // unused: 0
  bool drop;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  const auto& ports = reader.array_or_empty("ports", kMaxPorts);
  config.drop = reader.boolean_or("drop", false);
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

std::vector<ids::IdsRule> matcher_rules() {
  std::vector<ids::IdsRule> rules;
  for (const SqliPattern& pattern : kSqliPatterns)
    rules.push_back({pattern.name, std::string("(?s)") + pattern.expression, true, true});
  return rules;
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

class SqliDetector final : public NfCore {
 public:
  SqliDetector(const Config& config, std::span<const MetadataField> metadata)
      : bits_(bits_of(metadata)), config_(config), matcher_(matcher_rules()) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    for (size_t i = 0; i < packets.size(); ++i) {
      const NfPacket& ahead = packets[std::min(i + kPrefetchDistance, packets.size() - 1)];
      __builtin_prefetch(ahead.data + ahead.parsed.payload_offset);
      const uint8_t klass = judge(packets[i], now_ns);
      bits_.write(packets[i].metadata, klass);
      verdicts[i] = {.drop = klass == kAttack && config_.drop, .drop_reason = 0, .out = in};
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField> metadata) const override {
    return std::make_unique<Next>(read_config(value), bits_of(metadata));
  }

  void take(NextConfig& next) noexcept override {
    config_ = static_cast<Next&>(next).config;
    bits_ = static_cast<Next&>(next).bits;
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures([this] { return counters_; },
                        [limit](const Counters& counters, RowForm) { return view(counters, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state) override { return import_no_flows(state); }

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
    Next(const Config& of, const ClassBits& where) : config(of), bits(where) {}
    Config config;
    ClassBits bits;
  };

  uint8_t judge(const NfPacket& packet, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    if (!is_ipv4(p)) {
      ++counters_.non_ip;
      return kUnset;
    }
    counters_.malformed += p.kind == PacketKind::kMalformed;
    const uint32_t patterns = is_searched(p) ? search({packet.data + p.payload_offset, p.payload_length}) : 0;
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

  // The patterns that the bytes hold, each counted.
  uint32_t search(std::span<const uint8_t> bytes) {
    ++counters_.searched;
    found_ = 0;
    const bool whole = matcher_.scan(
        bytes, [](void* self, uint32_t pattern) { static_cast<SqliDetector*>(self)->found_ |= 1u << pattern; }, this);
    counters_.not_searchable += !whole;
    for (uint32_t rest = found_; rest != 0; rest &= rest - 1)
      ++counters_.hits[static_cast<size_t>(std::countr_zero(rest))];
    return found_;
  }

  ClassBits bits_;
  Config config_;
  ids::Matcher matcher_;
  uint32_t found_ = 0;  // in the packet at hand
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<SqliDetector>(read_config(config), metadata);
}

}  // namespace orrery::sqli_detector
