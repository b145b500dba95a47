// SPDX-License-Identifier: Apache-2.0
#include "nfs/ddos-detector/ddos_detector_core.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/ddos-detector/syn_counters.h"
#include "nfs/flow_rows.h"
#include "nfs/ipv4_frame.h"
#include "nfs/recent.h"
#include "nfs/state_copy.h"
#include "nfs/state_import.h"
#include "support/clock.h"

namespace orrery::ddos_detector {
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
  config.window_ns = reader.integer_or("window_ms", 1, kMaxWindowMs, 1000) * 1'000'000u;
  config.limits.minimum = static_cast<uint32_t>(reader.integer_or("minimum", 1, UINT16_MAX, 32));
  config.limits.quarter_deviations = static_cast<uint32_t>(reader.steps("deviations", kQuarter, 1, 64, 12));
  config.drop = reader.boolean_or("drop", false);
  reader.done();
  return config;
}

// Of flow state: the address counted last, SYNs, flagged, flagged address.
constexpr RowLayout<4> kRow{UINT32_MAX, UINT16_MAX, 1, UINT32_MAX};

// A destination that was flagged or cleared.
struct Alert {
  uint64_t at_ns;
  uint32_t address;
  bool flagged;
  uint16_t count;
  uint32_t mean;
};

struct Counters {
  Recent<Alert, kAlerts> alerts;
  uint64_t windows = 0;
  uint64_t syns = 0;
  uint64_t normal = 0;
  uint64_t attacks = 0;
  uint64_t malformed = 0;
  uint64_t non_ip = 0;
};

struct Figures {
  SynCounters destinations;
  Counters counters;
};

// What moves to another instance.
struct Window {
  SynCounters destinations;
  std::optional<uint64_t> began_ns;  // nothing before the first batch
};

class DdosDetector final : public NfCore {
 public:
  DdosDetector(const Config& config, std::span<const MetadataField> metadata)
      : bits_(bits_of(metadata)), config_(config) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    if (!packets.empty()) close_windows(now_ns);
    for (size_t i = 0; i < packets.size(); ++i) {
      const uint8_t klass = judge(packets[i]);
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

  // Counters: the highest first. Alerts: the newest first.
  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures(
        [this] {
          return Figures{window_.destinations, counters_};
        },
        [limit](const Figures& figures, RowForm) { return view(figures, limit); });
  }

  // The counters are so few that one slice holds them.
  std::unique_ptr<StateCopy> copy_flows() const override {
    return copy_figures([this] { return window_; },
                        [](const Window& window, RowForm form) {
                          std::vector<std::array<uint64_t, 4>> rows;
                          for (const auto& c : window.destinations.all())
                            if (c.count != 0 || c.flagged)
                              rows.push_back({c.address, c.count, c.flagged, c.flagged_address});
                          json state = {{"counters", write_rows(kRow, rows, form)}};
                          if (window.began_ns) state["window_age_ms"] = age_ms(monotonic_ns(), *window.began_ns);
                          return state;
                        });
  }

  std::unique_ptr<StateImport> prepare_import(const json& state) override {
    ConfigReader reader(state, "");
    const auto rows = read_rows(reader, "counters", kRow);
    const uint64_t window_age_ms = reader.integer_or("window_age_ms", 0, kMaxAgeMs, 0);
    reader.done();
    if (rows.size() > SynCounters::kCounters)
      throw ConfigError(reader.pointer_to("counters"),
                        "must have at most " + std::to_string(SynCounters::kCounters) + " elements");
    std::vector<SynCounters::Counter> counters;
    counters.reserve(rows.size());
    for (const auto& r : rows)
      counters.push_back({.address = static_cast<uint32_t>(r[0]),
                          .flagged_address = static_cast<uint32_t>(r[3]),
                          .count = static_cast<uint16_t>(r[1]),
                          .flagged = r[2] == 1});
    std::optional<uint64_t> began_ns;
    if (state.contains("window_age_ms")) began_ns = time_at_age(monotonic_ns(), window_age_ms);
    return import_at_once([this, counters = std::move(counters), began_ns] {
      for (const auto& counter : counters) window_.destinations.add(counter);
      if (!window_.began_ns) window_.began_ns = began_ns;
    });
  }

 private:
  static ClassBits bits_of(std::span<const MetadataField> metadata) {
    return ClassBits(metadata, "verdict", {"normal", "attack"});
  }

  static json view(const Figures& figures, size_t limit) {
    const auto& [destinations, counters] = figures;
    std::vector<const SynCounters::Counter*> top;
    size_t flagged = 0;
    for (const auto& counter : destinations.all()) {
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
    counters.alerts.for_each(limit, [&](const Alert& alert) {
      alerts.push_back({{"at_ms", wall_ms_at(alert.at_ns)},
                        {"dst", address_text(alert.address)},
                        {"event", alert.flagged ? "flagged" : "cleared"},
                        {"syns", alert.count},
                        {"mean", alert.mean}});
    });
    return {{"windows", counters.windows},     {"flagged", flagged},         {"active_counters", active},
            {"syns", counters.syns},           {"normal", counters.normal},  {"attacks", counters.attacks},
            {"malformed", counters.malformed}, {"non_ip", counters.non_ip},  {"alert_count", counters.alerts.count()},
            {"counters", std::move(rows)},     {"alerts", std::move(alerts)}};
  }

  struct Next final : NextConfig {
    Next(const Config& of, const ClassBits& where) : config(of), bits(where) {}
    Config config;
    ClassBits bits;
  };

  uint8_t judge(const NfPacket& packet) {
    const ParsedPacket& p = packet.parsed;
    if (!is_ipv4(p)) {
      ++counters_.non_ip;
      return kUnset;
    }
    counters_.malformed += p.kind == PacketKind::kMalformed;
    const bool attack = is_tcp(p) && count(tcp_flags(packet), p.ip_dst);
    ++(attack ? counters_.attacks : counters_.normal);
    return attack ? kAttack : kNormal;
  }

  // Whether it is a SYN to a flagged destination.
  bool count(uint8_t flags, uint32_t destination) {
    switch (flags & (kTcpSyn | kTcpAck)) {
      case kTcpSyn:
        ++counters_.syns;
        window_.destinations.raise(destination);
        return window_.destinations.is_flagged(destination);
      case kTcpAck:
        window_.destinations.lower(destination);
        return false;
      default:
        return false;
    }
  }

  // Ends every window that is over, those without packets too.
  void close_windows(uint64_t now_ns) {
    uint64_t& began_ns = window_.began_ns ? *window_.began_ns : window_.began_ns.emplace(now_ns);
    for (uint32_t n = 0; now_ns > began_ns && now_ns - began_ns >= config_.window_ns; ++n) {
      const uint64_t windows = n < SynCounters::kWindowsToForget ? 1 : (now_ns - began_ns) / config_.window_ns;
      if (windows == 1) close_window(now_ns);
      counters_.windows += windows;
      began_ns += windows * config_.window_ns;
    }
  }

  void close_window(uint64_t now_ns) {
    window_.destinations.close_window(config_.limits,
                                      [&](uint32_t address, bool flagged, uint16_t count, uint32_t mean) {
                                        counters_.alerts.add() = {now_ns, address, flagged, count, mean};
                                      });
  }

  ClassBits bits_;
  Config config_;
  Window window_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<DdosDetector>(read_config(config), metadata);
}

}  // namespace orrery::ddos_detector
