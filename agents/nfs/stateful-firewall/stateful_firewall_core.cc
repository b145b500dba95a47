// SPDX-License-Identifier: Apache-2.0
#include "nfs/stateful-firewall/stateful_firewall_core.h"

#include <algorithm>
#include <array>

#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/ip_frame.h"
#include "nfs/movable_flows.h"
#include "nfs/stateful-firewall/rule_list.h"
#include "nfs/stateful-firewall/tcp_states.h"

namespace orrery::stateful_firewall {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"denied", "no-state", "malformed", "table-full"};
enum DropReason : uint8_t { kDenied, kNoState, kMalformed, kTableFull };

// Of flow state: src, dst, src port, dst port, proto, state, idle ms; youngest first.
constexpr auto kRow = flow_layout(kTcpStates - 1, kMaxAgeMs);

struct Connection {
  TcpState state;

  bool transitory() const { return state != TcpState::kEstablished; }
};

using Connections = FlowStore<FlowTuple, Connection>;

struct Config {
  bool default_allow;
  ConnectionRules rules;
  FlowLimits flows;  // exactly in order of last use
};

struct Counters {
  std::array<uint64_t, kMaxConnectionRules> hits{};  // of each rule
  std::array<uint64_t, std::size(kDropReasons)> dropped{};
  uint64_t passed = 0;
  uint64_t non_ip = 0;
  uint64_t by_default = 0;
};

struct Figures {
  FlowFigures flows;
  Counters counters;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  config.default_allow = reader.choice_or("default_action", {"allow", "deny"}, "allow") == "allow";
  config.rules = read_connection_rules(reader);
  config.flows.idle_ns = reader.integer_or("idle_timeout_s", 1, 43200, 300) * 1'000'000'000u;
  // No connection that is being opened or closed outlives an established one.
  config.flows.transitory_idle_ns =
      std::min(reader.integer_or("transitory_timeout_s", 1, 43200, 30) * 1'000'000'000ul, config.flows.idle_ns);
  config.flows.max_flows = static_cast<uint32_t>(reader.integer_or("max_flows", 1, kMaxFlows, 4096));
  config.flows.granularity_ns = 0;
  reader.done();
  return config;
}

auto row_of_flow(const Connections::Flow& f, uint64_t now_ns) {
  return row_of(f.key, static_cast<uint64_t>(f.value.state), age_ms(now_ns, f.last_seen_ns));
}

class StatefulFirewall final : public NfCore {
 public:
  explicit StatefulFirewall(Config config) : config_(std::move(config)), connections_(config_.flows) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    connections_.expire(now_ns);
    for (size_t begin = 0; begin < packets.size(); begin += kFlowBatch) {
      const size_t count = std::min(packets.size() - begin, kFlowBatch);
      judge_batch(packets.subspan(begin, count), in, verdicts.subspan(begin, count), now_ns);
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField>) const override {
    return std::make_unique<Next>(connections_, read_config(value));
  }

  // Connections that are open stay so whatever the new rules say. Hits are kept when the rules stay as they are.
  void take(NextConfig& next) noexcept override {
    auto& [config, connections] = static_cast<Next&>(next);
    if (config.rules != config_.rules) counters_.hits = {};
    std::swap(config_, config);
    connections_.take(connections);
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_flow_store(
        connections_,
        [this] {
          return Figures{connections_.figures(), counters_};
        },
        [this, limit](const auto& flows, const Figures& figures, RowForm) { return view(flows, figures, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return export_flows(connections_, kRow, row_of_flow); }
  MovableTables movable_flows() override { return movable_flows_of(connections_, kRow, row_of_flow); }

  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    return import_flows(
        connections_, state, kRow, known,
        [](const auto& r, uint64_t now_ns) {
          const auto [state, idle_ms] = numbers_behind_flow(r);
          if (state == 0) throw ConfigError("/5", "must be a state from 1 to 3");
          return Connections::Flow{flow_of_row(r), {TcpState(state)}, time_at_age(now_ns, idle_ms)};
        },
        [](const auto&, const auto&) {});
  }

 private:
  json view(const std::vector<Connections::Flow>& connections, const Figures& figures, size_t limit) const {
    const auto& [of, counters] = figures;
    json rules = json::array();
    for (size_t i = 0; i < std::min(limit, config_.rules.allow.size()); ++i)
      rules.push_back(
          {{"index", i}, {"action", config_.rules.allow[i] ? "allow" : "deny"}, {"packets", counters.hits[i]}});
    json flows = json::array();
    for (const auto& f : first_of(connections, limit)) {
      json& row = flows.emplace_back(flow_json(f.key));
      row["state"] = kTcpStateNames[static_cast<size_t>(f.value.state)];
      row["last_seen_ms"] = wall_ms_at(f.last_seen_ns);
    }
    return {{"flow_count", of.size},
            {"max_flows", of.capacity},
            {"flows_opened", of.created},
            {"flows_expired", of.expired},
            {"flows_evicted", of.evicted},
            {"flows_lost_by_import", of.lost_by_import},
            {"passed", counters.passed},
            {"denied", counters.dropped[kDenied]},
            {"no_state", counters.dropped[kNoState]},
            {"malformed", counters.dropped[kMalformed]},
            {"table_full", counters.dropped[kTableFull]},
            {"non_ip", counters.non_ip},
            {"by_default", counters.by_default},
            {"rules", std::move(rules)},
            {"flows", std::move(flows)}};
  }

  void judge_batch(std::span<const NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    std::array<FlowTuple, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes;
    for (size_t i = 0; i < packets.size(); ++i) set_flow(keys[i], packets[i].parsed, in);
    connections_.look_up({keys.data(), packets.size()}, hashes);
    for (size_t i = 0; i < packets.size(); ++i) {
      const auto reason = judge(packets[i], keys[i], hashes[i], now_ns);
      ++(reason ? counters_.dropped[*reason] : counters_.passed);
      verdicts[i] = {.drop = reason.has_value(), .drop_reason = reason.value_or(kDenied), .out = in};
    }
  }

  // Why the packet is dropped; nothing when it passes.
  std::optional<DropReason> judge(const NfPacket& packet, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    if (p.kind == PacketKind::kMalformed) return kMalformed;
    if (p.kind == PacketKind::kNonIp) {
      ++counters_.non_ip;
      return std::nullopt;
    }
    if (!is_tcp(p)) return allows(p) ? std::nullopt : std::optional(kDenied);
    Connections::Entry* connection = live(key, hash, now_ns);
    const TcpEvent event = tcp_event(tcp_flags(packet), connection != nullptr);
    if (connection == nullptr) return open(p, event, key, hash, now_ns);
    const TcpTransition transition = kTcpTransitions[transition_index(connection->value.state, event)];
    if (transition.next == TcpState::kNone) {
      connections_.table().erase(*connection);
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
    if (!connections_.make_room(now_ns)) return kTableFull;
    connections_.insert(key, hash, now_ns, {transition.next});
    return std::nullopt;
  }

  // The connection of a packet, unless it was idle for too long.
  Connections::Entry* live(const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    Connections::Entry* connection = connections_.find(key, hash);
    if (connection == nullptr || !connections_.idle_too_long(*connection, now_ns)) return connection;
    connections_.table().erase(*connection);
    connections_.count_expired();
    return nullptr;
  }

  bool allows(const ParsedPacket& p) {
    if (const auto rule = config_.rules.first_match(p)) {
      ++counters_.hits[*rule];
      return config_.rules.allow[*rule];
    }
    ++counters_.by_default;
    return config_.default_allow;
  }

  struct Next final : NextConfig {
    Next(const Connections& from, Config of) : config(std::move(of)), connections(from, config.flows) {}
    Config config;
    Connections::Resize connections;
  };

  Config config_;
  Connections connections_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  return std::make_unique<StatefulFirewall>(read_config(config));
}

}  // namespace orrery::stateful_firewall
