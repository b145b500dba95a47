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
#include "nfs/ip_frame.h"
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
constexpr RowLayout<6> kRow{kAddressWord, kAddressWord, UINT16_MAX, 1, kAddressWord, kAddressWord};

// A destination that was flagged or cleared.
struct Alert {
  uint64_t at_ns;
  Ipv6Address address;  // of IPv4: mapped
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

Ipv6Address either(uint32_t address) {
  return ipv4_mapped(address);
}
Ipv6Address either(const Ipv6Address& address) {
  return address;
}

struct Destinations {
  SynCounters ipv4;
  Ipv6SynCounters ipv6;

  // Calls visit(Counter) of each, with addresses of either version.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const auto visit_all = [&](const auto& counters) {
      for (const auto& c : counters.all())
        visit(Ipv6SynCounters::Counter{either(c.address), either(c.flagged_address), c.count, c.flagged});
    };
    visit_all(ipv4);
    visit_all(ipv6);
  }

  // Its counterpart: takes the addresses of one version.
  void add(const Ipv6SynCounters::Counter& counter) {
    if (!is_ipv4_mapped(counter.address)) {
      ipv6.add(counter);
    } else {
      ipv4.add({static_cast<uint32_t>(counter.address.low), static_cast<uint32_t>(counter.flagged_address.low),
                counter.count, counter.flagged});
    }
  }
};

struct Figures {
  Destinations destinations;
  Counters counters;
};

// What moves to another instance.
struct Window {
  Destinations destinations;
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
                          std::vector<std::array<uint64_t, 6>> rows;
                          window.destinations.for_each([&](const auto& c) {
                            if (c.count != 0 || c.flagged)
                              rows.push_back({c.address.high, c.address.low, c.count, c.flagged, c.flagged_address.high,
                                              c.flagged_address.low});
                          });
                          json state = {{"counters", write_rows(kRow, rows, form)}};
                          if (window.began_ns) state["window_age_ms"] = age_ms(monotonic_ns(), *window.began_ns);
                          return state;
                        });
  }

  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override {
    ConfigReader reader(state, "");
    const auto rows = read_rows(reader, "counters", kRow);
    const uint64_t window_age_ms = reader.integer_or("window_age_ms", 0, kMaxAgeMs, 0);
    reader.done();
    std::vector<Ipv6SynCounters::Counter> counters;
    counters.reserve(rows.size());
    std::array<size_t, 2> of_version{};
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& r = rows[i];
      const auto& counter = counters.emplace_back(Ipv6SynCounters::Counter{.address = {r[0], r[1]},
                                                                           .flagged_address = {r[4], r[5]},
                                                                           .count = static_cast<uint16_t>(r[2]),
                                                                           .flagged = r[3] == 1});
      const bool ipv4 = is_ipv4_mapped(counter.address);
      if (ipv4 != is_ipv4_mapped(counter.flagged_address))
        throw ConfigError(reader.pointer_to("counters", i) + "/3",
                          "must be an address of the same IP version as the first");
      if (++of_version[ipv4] > SynCounters::kCounters)
        throw ConfigError(reader.pointer_to("counters"),
                          "must have at most " + std::to_string(SynCounters::kCounters) + " elements of an IP version");
    }
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
    std::vector<Ipv6SynCounters::Counter> top;
    size_t flagged = 0;
    destinations.for_each([&](const auto& counter) {
      if (counter.count != 0) top.push_back(counter);
      flagged += counter.flagged;
    });
    const size_t active = top.size();
    std::ranges::stable_sort(top, std::greater{}, &Ipv6SynCounters::Counter::count);
    top.resize(std::min(limit, active));
    json rows = json::array();
    for (const auto& counter : top)
      rows.push_back({{"dst", address_text(counter.address)},
                      {"syns", counter.count},
                      {"flagged", counter.flagged && counter.flagged_address == counter.address}});
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
    if (!is_ip(p)) {
      ++counters_.non_ip;
      return kUnset;
    }
    counters_.malformed += p.kind == PacketKind::kMalformed;
    const bool attack = is_tcp(p) && (p.has_ipv6() ? count(tcp_flags(packet), window_.destinations.ipv6, p.ipv6_dst)
                                                   : count(tcp_flags(packet), window_.destinations.ipv4, p.ip_dst));
    ++(attack ? counters_.attacks : counters_.normal);
    return attack ? kAttack : kNormal;
  }

  // Whether it is a SYN to a flagged destination.
  template <class Address>
  bool count(uint8_t flags, SynCountersOf<Address>& counters, Address destination) {
    switch (flags & (kTcpSyn | kTcpAck)) {
      case kTcpSyn:
        ++counters_.syns;
        counters.raise(destination);
        return counters.is_flagged(destination);
      case kTcpAck:
        counters.lower(destination);
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
    const auto note = [&](const auto& address, bool flagged, uint16_t count, uint32_t mean) {
      counters_.alerts.add() = {now_ns, either(address), flagged, count, mean};
    };
    window_.destinations.ipv4.close_window(config_.limits, note);
    window_.destinations.ipv6.close_window(config_.limits, note);
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
