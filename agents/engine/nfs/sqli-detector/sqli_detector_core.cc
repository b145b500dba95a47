// SPDX-License-Identifier: Apache-2.0
#include "nfs/sqli-detector/sqli_detector_core.h"

#include <algorithm>
#include <array>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/ids/matcher.h"
#include "nfs/ipv4_frame.h"
#include "sqli_patterns.h"  // made from fpga/rtl/nf_sqli_detector/patterns.txt
#include "support/clock.h"

namespace orrery {
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
  const auto& ports = reader.array("ports", kMaxPorts);
  config.drop = reader.boolean("drop", false);
  reader.finish();
  if (!value.contains("ports")) {
    config.ports[0] = 80;
    return config;
  }
  if (ports.empty()) throw ConfigError(reader.at("ports"), "must name at least one port");
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto port = as_integer(ports[i]);
    if (!port || *port == 0 || *port > UINT16_MAX)
      throw ConfigError(reader.at("ports", i), "must be a port from 1 to 65535");
    if (std::ranges::find(config.ports, *port) != config.ports.end())
      throw ConfigError(reader.at("ports", i), "is there twice");
    config.ports[i] = static_cast<uint16_t>(*port);
  }
  return config;
}

std::vector<IdsRule> matcher_rules() {
  std::vector<IdsRule> rules;
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

class SqliDetector final : public NfCore {
 public:
  SqliDetector(const Config& config, std::span<const MetadataField> metadata)
      : bits_(metadata, "verdict", {"clean", "attack"}), config_(config), matcher_(matcher_rules()) {}

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

  std::unique_ptr<NextConfig> prepare(const json& value) const override {
    return std::make_unique<Next>(read_config(value));
  }

  void take(NextConfig& next) noexcept override { config_ = static_cast<Next&>(next).config; }

  // Alerts: the newest first.
  json state(size_t limit) const override {
    json patterns = json::array();
    for (size_t i = 0; i < std::min(limit, kPatterns); ++i)
      patterns.push_back({{"name", kSqliPatterns[i].name}, {"packets", hits_[i]}});
    json alerts = json::array();
    for (uint64_t n = attacks_; n > 0 && attacks_ - n < kAlerts && alerts.size() < limit; --n)
      alerts.push_back(row_of(alerts_[(n - 1) % kAlerts]));
    return {{"searched", searched_},
            {"clean", clean_},
            {"attacks", attacks_},
            {"malformed", malformed_},
            {"non_ip", non_ip_},
            {"not_searchable", not_searchable_},
            {"patterns", std::move(patterns)},
            {"alerts", std::move(alerts)}};
  }

  json export_state() const override { return json::object(); }

  void import_state(const json& state) override { ConfigReader(state, "").finish(); }

 private:
  struct Next final : NextConfig {
    explicit Next(const Config& of) : config(of) {}
    Config config;
  };

  static json row_of(const Alert& alert) {
    json names = json::array();
    for (size_t i = 0; i < kPatterns; ++i)
      if (alert.patterns >> i & 1) names.push_back(kSqliPatterns[i].name);
    return {{"at_ms", wall_ms_at(alert.at_ns)},    {"src", address_text(alert.flow.src)},
            {"dst", address_text(alert.flow.dst)}, {"src_port", alert.flow.src_port},
            {"dst_port", alert.flow.dst_port},     {"patterns", std::move(names)}};
  }

  uint8_t judge(const NfPacket& packet, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    if (!is_ipv4(p)) {
      ++non_ip_;
      return kUnset;
    }
    malformed_ += p.kind == PacketKind::kMalformed;
    const uint32_t patterns = is_searched(p) ? search({packet.data + p.payload_offset, p.payload_length}) : 0;
    if (patterns == 0) {
      ++clean_;
      return kClean;
    }
    alerts_[attacks_++ % kAlerts] = {now_ns, FlowTuple::of(p), patterns};
    return kAttack;
  }

  bool is_searched(const ParsedPacket& p) const {
    return p.dst_port != 0 && is_tcp(p) && std::ranges::find(config_.ports, p.dst_port) != config_.ports.end();
  }

  // The patterns that the bytes hold, each counted.
  uint32_t search(std::span<const uint8_t> bytes) {
    ++searched_;
    found_ = 0;
    const bool whole = matcher_.scan(
        bytes, [](void* self, uint32_t pattern) { static_cast<SqliDetector*>(self)->found_ |= 1u << pattern; }, this);
    not_searchable_ += !whole;
    for (uint32_t rest = found_; rest != 0; rest &= rest - 1) ++hits_[static_cast<size_t>(std::countr_zero(rest))];
    return found_;
  }

  ClassBits bits_;
  Config config_;
  Matcher matcher_;
  uint32_t found_ = 0;  // in the packet at hand
  std::array<uint64_t, kPatterns> hits_{};
  std::array<Alert, kAlerts> alerts_{};
  uint64_t attacks_ = 0;
  uint64_t searched_ = 0;
  uint64_t clean_ = 0;
  uint64_t malformed_ = 0;
  uint64_t non_ip_ = 0;
  uint64_t not_searchable_ = 0;  // the matcher gave up
};

}  // namespace

std::unique_ptr<NfCore> make_sqli_detector(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<SqliDetector>(read_config(config), metadata);
}

}  // namespace orrery
