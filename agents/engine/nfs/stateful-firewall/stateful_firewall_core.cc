// SPDX-License-Identifier: Apache-2.0
#include "nfs/stateful-firewall/stateful_firewall_core.h"

#include <algorithm>
#include <array>

#include "nfs/config_reader.h"
#include "nfs/flow_moves.h"
#include "nfs/flow_rows.h"
#include "nfs/ipv4_frame.h"
#include "nfs/stateful-firewall/rule_list.h"
#include "nfs/stateful-firewall/tcp_states.h"
#include "support/clock.h"
#include "support/flow_table.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"denied", "no-state", "malformed", "table-full"};
enum DropReason : uint8_t { kDenied, kNoState, kMalformed, kTableFull };

constexpr size_t kBatch = 32;
constexpr uint32_t kMaxFlows = 1u << 20;
constexpr uint32_t kExpiriesPerBatch = 4;

struct Connection {
  TcpState state;
};

using Connections = FlowTable<FlowTuple, Connection>;

struct Config {
  bool default_allow;
  std::vector<ConnectionRule> rules;
  uint64_t idle_ns;
  uint32_t max_flows;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  config.default_allow = reader.choice("default_action", {"allow", "deny"}, "allow") == "allow";
  config.rules = read_connection_rules(reader);
  config.idle_ns = reader.integer("idle_timeout_s", 1, 43200, 300) * 1'000'000'000u;
  config.max_flows = static_cast<uint32_t>(reader.integer("max_flows", 1, kMaxFlows, 4096));
  reader.finish();
  return config;
}

class StatefulFirewall final : public NfCore {
 public:
  explicit StatefulFirewall(Config config)
      : config_(std::move(config)), hits_(config_.rules.size()), connections_(config_.max_flows, 0) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    expired_ += connections_.expire(now_ns, config_.idle_ns, kExpiriesPerBatch, [](const auto&) {});
    for (size_t begin = 0; begin < packets.size(); begin += kBatch) {
      const size_t count = std::min(packets.size() - begin, kBatch);
      judge_batch(packets.subspan(begin, count), in, verdicts.subspan(begin, count), now_ns);
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value) const override {
    return std::make_unique<Next>(read_config(value));
  }

  // Connections that are open stay so whatever the new rules say. Hits are kept when the rules stay as they are.
  void take(NextConfig& next) noexcept override {
    auto& [config, hits, connections, keep] = static_cast<Next&>(next);
    if (config.rules == config_.rules) std::swap(hits_, hits);
    copy_youngest(connections_, connections, keep);
    std::swap(config_, config);
    std::swap(hits_, hits);
    std::swap(connections_, connections);
  }

  json state(size_t limit) const override {
    json rules = json::array();
    for (size_t i = 0; i < std::min(limit, config_.rules.size()); ++i)
      rules.push_back({{"index", i}, {"action", config_.rules[i].allow ? "allow" : "deny"}, {"packets", hits_[i]}});
    json flows = json::array();
    connections_.for_each([&](const Connections::Entry& e) {
      if (flows.size() == limit) return false;
      flows.push_back({{"src", address_text(e.key.src)},
                       {"dst", address_text(e.key.dst)},
                       {"proto", e.key.proto},
                       {"src_port", e.key.src_port},
                       {"dst_port", e.key.dst_port},
                       {"state", kTcpStateNames[static_cast<size_t>(e.value.state)]},
                       {"last_seen_ms", wall_ms_at(e.last_seen_ns)}});
      return true;
    });
    return {{"flow_count", connections_.size()},
            {"max_flows", connections_.capacity()},
            {"flows_opened", opened_},
            {"flows_expired", expired_},
            {"flows_lost_by_import", lost_by_import_},
            {"passed", passed_},
            {"denied", dropped_[kDenied]},
            {"no_state", dropped_[kNoState]},
            {"malformed", dropped_[kMalformed]},
            {"table_full", dropped_[kTableFull]},
            {"non_ip", non_ip_},
            {"by_default", by_default_},
            {"rules", std::move(rules)},
            {"flows", std::move(flows)}};
  }

  json export_state() const override {
    const uint64_t now_ns = monotonic_ns();
    json flows = json::array();
    connections_.for_each([&](const Connections::Entry& e) {
      flows.push_back({e.key.src, e.key.dst, e.key.src_port, e.key.dst_port, e.key.proto,
                       static_cast<uint8_t>(e.value.state), age_ms(now_ns, e.last_seen_ns)});
      return flows.size() < kMaxExportedFlows;
    });
    return {{"flows", std::move(flows)}};
  }

  void import_state(const json& state) override {
    ConfigReader reader(state, "");
    const auto& items = reader.array("flows", kMaxExportedFlows);
    reader.finish();
    constexpr uint64_t kMax[] = {UINT32_MAX, UINT32_MAX, UINT16_MAX, UINT16_MAX, 255, kTcpStates - 1, kMaxAgeMs};
    const auto rows = read_rows(items, reader.at("flows"), kMax);
    const uint64_t now_ns = monotonic_ns();
    std::vector<MovingFlow<Connection>> flows;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& r = rows[i];
      if (r[5] == 0) throw ConfigError(reader.at("flows", i) + "/5", "must be a state from 1 to 3");
      flows.push_back({flow_of_row(r), {TcpState(r[5])}, time_at_age(now_ns, r[6])});
    }
    lost_by_import_ += merge_flows(connections_, std::move(flows));
  }

 private:
  void judge_batch(std::span<const NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    std::array<FlowTuple, kBatch> keys;
    std::array<uint32_t, kBatch> hashes;
    for (size_t i = 0; i < packets.size(); ++i) keys[i] = flow_of(packets[i].parsed, in);
    for (size_t i = 0; i < packets.size(); ++i) {
      hashes[i] = connections_.hash(keys[i]);
      connections_.prefetch(hashes[i]);
    }
    for (size_t i = 0; i < packets.size(); ++i) connections_.prefetch_entry(hashes[i]);
    for (size_t i = 0; i < packets.size(); ++i) {
      const auto reason = judge(packets[i], keys[i], hashes[i], now_ns);
      ++(reason ? dropped_[*reason] : passed_);
      verdicts[i] = {.drop = reason.has_value(), .drop_reason = reason.value_or(kDenied), .out = in};
    }
  }

  // Why the packet is dropped; nothing when it passes.
  std::optional<DropReason> judge(const NfPacket& packet, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    if (p.kind == PacketKind::kMalformed) return kMalformed;
    if (p.kind == PacketKind::kNonIp) {
      ++non_ip_;
      return std::nullopt;
    }
    if (!is_tcp(p)) return allows(p) ? std::nullopt : std::optional(kDenied);
    Connections::Entry* connection = live(key, hash, now_ns);
    const TcpEvent event = tcp_event(tcp_flags(packet));
    if (connection == nullptr) return open(p, event, key, hash, now_ns);
    const TcpTransition transition = kTcpTransitions[transition_index(connection->value.state, event)];
    if (transition.next == TcpState::kNone) {
      connections_.erase(*connection);
    } else {
      connection->value.state = transition.next;
      connections_.touch(*connection, now_ns);
    }
    return transition.drop ? std::optional(kNoState) : std::nullopt;
  }

  std::optional<DropReason> open(const ParsedPacket& p, TcpEvent event, const FlowTuple& key, uint32_t hash,
                                 uint64_t now_ns) {
    const TcpTransition transition = kTcpTransitions[transition_index(TcpState::kNone, event)];
    if (transition.drop) return kNoState;
    if (!allows(p)) return kDenied;
    if (connections_.full() && !expire_one(now_ns)) return kTableFull;
    connections_.insert(key, hash, now_ns).value = {transition.next};
    ++opened_;
    return std::nullopt;
  }

  // The connection of a packet, unless it was idle for too long.
  Connections::Entry* live(const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    Connections::Entry* connection = connections_.find(key, hash);
    if (connection == nullptr || now_ns < connection->last_seen_ns ||
        now_ns - connection->last_seen_ns < config_.idle_ns)
      return connection;
    connections_.erase(*connection);
    ++expired_;
    return nullptr;
  }

  bool expire_one(uint64_t now_ns) {
    const uint32_t count = connections_.expire(now_ns, config_.idle_ns, 1, [](const auto&) {});
    expired_ += count;
    return count == 1;
  }

  bool allows(const ParsedPacket& p) {
    for (size_t i = 0; i < config_.rules.size(); ++i) {
      if (!config_.rules[i].matches(p)) continue;
      ++hits_[i];
      return config_.rules[i].allow;
    }
    ++by_default_;
    return config_.default_allow;
  }

  struct Next final : NextConfig {
    explicit Next(Config of) : config(std::move(of)), hits(config.rules.size()), connections(config.max_flows, 0) {
      keep.reserve(config.max_flows);
    }
    Config config;
    std::vector<uint64_t> hits;
    Connections connections;
    std::vector<const Connections::Entry*> keep;
  };

  Config config_;
  std::vector<uint64_t> hits_;  // of each rule
  Connections connections_;     // exactly in order of last use
  std::array<uint64_t, std::size(kDropReasons)> dropped_{};
  uint64_t passed_ = 0;
  uint64_t non_ip_ = 0;
  uint64_t by_default_ = 0;
  uint64_t opened_ = 0;
  uint64_t expired_ = 0;
  uint64_t lost_by_import_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make_stateful_firewall(const json& config, std::span<const MetadataField>) {
  return std::make_unique<StatefulFirewall>(read_config(config));
}

}  // namespace orrery
