// SPDX-License-Identifier: Apache-2.0
#include "nfs/ddos-detector/ddos_detector_core.h"

#include <algorithm>
#include <array>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/ddos-detector/syn_counters.h"
#include "nfs/flow_rows.h"
#include "nfs/ipv4_frame.h"
#include "support/clock.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"attack"};
constexpr size_t kAlerts = 64;
constexpr uint8_t kUnset = 0, kNormal = 1, kAttack = 2;
constexpr uint64_t kMaxWindowMs = 60000;
constexpr double kQuarter = 0.25;

struct Config {
  uint64_t window_ns;
  SynCounters::Limits limits;
  bool drop;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  config.window_ns = reader.integer("window_ms", 1, kMaxWindowMs, 1000) * 1'000'000u;
  config.limits.minimum = static_cast<uint32_t>(reader.integer("minimum", 1, UINT16_MAX, 32));
  config.limits.quarter_deviations = static_cast<uint32_t>(reader.steps("deviations", kQuarter, 1, 64, 12));
  config.drop = reader.boolean("drop", false);
  reader.finish();
  return config;
}

// A destination that was flagged or cleared.
struct Alert {
  uint64_t at_ns;
  uint32_t address;
  bool flagged;
  uint16_t count;
  uint32_t mean;
};

class DdosDetector final : public NfCore {
 public:
  DdosDetector(const Config& config, std::span<const MetadataField> metadata)
      : bits_(metadata, "verdict", {"normal", "attack"}), config_(config) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    if (!packets.empty()) close_windows(now_ns);
    for (size_t i = 0; i < packets.size(); ++i) {
      const uint8_t klass = judge(packets[i]);
      bits_.write(packets[i].metadata, klass);
      verdicts[i] = {.drop = klass == kAttack && config_.drop, .drop_reason = 0, .out = in};
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value) const override {
    return std::make_unique<Next>(read_config(value));
  }

  void take(NextConfig& next) noexcept override { config_ = static_cast<Next&>(next).config; }

  // Counters: the highest first. Alerts: the newest first.
  json state(size_t limit) const override {
    std::vector<const SynCounters::Counter*> top;
    size_t flagged = 0;
    for (const auto& counter : counters_.all()) {
      if (counter.count != 0) top.push_back(&counter);
      flagged += counter.flagged;
    }
    const size_t active = top.size();
    std::ranges::stable_sort(top, std::greater{}, [](const auto* counter) { return counter->count; });
    top.resize(std::min(limit, active));
    json rows = json::array();
    for (const auto* counter : top)
      rows.push_back({{"dst", address_text(counter->address)},
                      {"syns", counter->count},
                      {"flagged", counter->flagged && counter->flagged_address == counter->address}});
    json alerts = json::array();
    for (uint64_t n = alert_count_; n > 0 && alert_count_ - n < kAlerts && alerts.size() < limit; --n) {
      const Alert& alert = alerts_[(n - 1) % kAlerts];
      alerts.push_back({{"at_ms", wall_ms_at(alert.at_ns)},
                        {"dst", address_text(alert.address)},
                        {"event", alert.flagged ? "flagged" : "cleared"},
                        {"syns", alert.count},
                        {"mean", alert.mean}});
    }
    return {
        {"windows", windows_},         {"flagged", flagged},          {"active_counters", active},  {"syns", syns_},
        {"normal", normal_},           {"attacks", attacks_},         {"malformed", malformed_},    {"non_ip", non_ip_},
        {"alert_count", alert_count_}, {"counters", std::move(rows)}, {"alerts", std::move(alerts)}};
  }

  json export_state() const override {
    json rows = json::array();
    for (const auto& c : counters_.all())
      if (c.count != 0 || c.flagged) rows.push_back({c.address, c.count, c.flagged ? 1 : 0, c.flagged_address});
    json state = {{"counters", std::move(rows)}};
    if (window_began_ns_) state["window_age_ms"] = std::min(age_ms(monotonic_ns(), *window_began_ns_), kMaxAgeMs);
    return state;
  }

  void import_state(const json& state) override {
    ConfigReader reader(state, "");
    const auto& items = reader.array("counters", SynCounters::kCounters);
    const uint64_t window_age_ms = reader.integer("window_age_ms", 0, kMaxAgeMs, 0);
    reader.finish();
    constexpr uint64_t kMax[] = {UINT32_MAX, UINT16_MAX, 1, UINT32_MAX};
    for (const auto& r : read_rows(items, reader.at("counters"), kMax))
      counters_.add({.address = static_cast<uint32_t>(r[0]),
                     .flagged_address = static_cast<uint32_t>(r[3]),
                     .count = static_cast<uint16_t>(r[1]),
                     .flagged = r[2] == 1});
    if (!window_began_ns_ && state.contains("window_age_ms"))
      window_began_ns_ = time_at_age(monotonic_ns(), window_age_ms);
  }

 private:
  struct Next final : NextConfig {
    explicit Next(const Config& of) : config(of) {}
    Config config;
  };

  uint8_t judge(const NfPacket& packet) {
    const ParsedPacket& p = packet.parsed;
    if (!is_ipv4(p)) {
      ++non_ip_;
      return kUnset;
    }
    malformed_ += p.kind == PacketKind::kMalformed;
    const bool attack = is_tcp(p) && count(tcp_flags(packet), p.ip_dst);
    ++(attack ? attacks_ : normal_);
    return attack ? kAttack : kNormal;
  }

  // Whether it is a SYN to a flagged destination.
  bool count(uint8_t flags, uint32_t destination) {
    switch (flags & (kTcpSyn | kTcpAck)) {
      case kTcpSyn:
        ++syns_;
        counters_.raise(destination);
        return counters_.is_flagged(destination);
      case kTcpAck:
        counters_.lower(destination);
        return false;
      default:
        return false;
    }
  }

  // Ends every window that is over, those without packets too.
  void close_windows(uint64_t now_ns) {
    uint64_t& began_ns = window_began_ns_ ? *window_began_ns_ : window_began_ns_.emplace(now_ns);
    for (uint32_t n = 0; now_ns > began_ns && now_ns - began_ns >= config_.window_ns; ++n) {
      const uint64_t windows = n < SynCounters::kWindowsToForget ? 1 : (now_ns - began_ns) / config_.window_ns;
      if (windows == 1) close_window(now_ns);
      windows_ += windows;
      began_ns += windows * config_.window_ns;
    }
  }

  void close_window(uint64_t now_ns) {
    counters_.close_window(config_.limits, [&](uint32_t address, bool flagged, uint16_t count, uint32_t mean) {
      alerts_[alert_count_++ % kAlerts] = {now_ns, address, flagged, count, mean};
    });
  }

  ClassBits bits_;
  Config config_;
  SynCounters counters_;
  std::optional<uint64_t> window_began_ns_;  // nothing before the first batch
  std::array<Alert, kAlerts> alerts_{};
  uint64_t alert_count_ = 0;
  uint64_t windows_ = 0;
  uint64_t syns_ = 0;
  uint64_t normal_ = 0;
  uint64_t attacks_ = 0;
  uint64_t malformed_ = 0;
  uint64_t non_ip_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make_ddos_detector(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<DdosDetector>(read_config(config), metadata);
}

}  // namespace orrery
