// SPDX-License-Identifier: Apache-2.0
#include "nfs/url-filter/url_filter_core.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nfs/class_bits.h"
#include "nfs/flow_state.h"
#include "nfs/ip_frame.h"
#include "nfs/movable_flows.h"
#include "nfs/recent.h"
#include "nfs/url-filter/url_rules.h"

namespace orrery::url_filter {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"blocked", "unreadable", "malformed"};
enum DropReason : uint8_t { kBlocked, kUnreadable, kMalformed };

constexpr size_t kMaxPorts = 16;
constexpr size_t kRecent = 64;
constexpr size_t kShownHost = 63;
constexpr uint8_t kUnset = 0, kAllowed = 1, kBlockedClass = 2;

// Of flow state; youngest first.
constexpr auto kRow = flow_layout(1u, kMaxAgeMs);

// Those that are allowed make room first, so that nobody frees a blocked one by opening many.
struct Judgement {
  bool blocked;

  bool transitory() const { return !blocked; }
};

using Judgements = FlowStore<FlowTuple, Judgement>;

struct Config {
  std::vector<UrlRule> rules;
  bool default_block;
  bool block_unreadable;
  bool drop;
  std::vector<PortRange> ports;  // empty: all
  FlowLimits flows;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config{};
  config.rules = read_url_rules(reader);
  config.default_block = reader.choice_or("default_action", {"allow", "block"}, "allow") == "block";
  config.block_unreadable = reader.choice_or("unreadable", {"allow", "block"}, "allow") == "block";
  config.drop = reader.boolean_or("drop", true);
  const json& ports = reader.array_or_empty("ports", kMaxPorts);
  for (size_t i = 0; i < ports.size(); ++i)
    config.ports.push_back(ConfigReader::port_range(ports[i], reader.pointer_to("ports", i)));
  config.flows.idle_ns = static_cast<uint64_t>(reader.integer_or("idle_timeout_s", 1, 86400, 300)) * 1'000'000'000u;
  config.flows.transitory_idle_ns = config.flows.idle_ns;
  config.flows.granularity_ns = config.flows.idle_ns / 64;
  config.flows.max_flows = static_cast<uint32_t>(reader.integer_or("max_flows", 1, kMaxFlows, 65536));
  reader.done();
  return config;
}

// A request that was blocked.
struct Refusal {
  uint64_t at_ns;
  FlowTuple flow;
  std::optional<uint16_t> rule;  // nothing: the default action
  std::array<char, kShownHost + 1> host;
};

struct Counters {
  std::array<uint64_t, kMaxRules> hits{};  // of each rule
  Recent<Refusal, kRecent> refusals;
  uint64_t http = 0;  // requests
  uint64_t tls = 0;
  uint64_t unreadable = 0;
  uint64_t by_default = 0;
  uint64_t requests_blocked = 0;
  uint64_t packets_blocked = 0;
  uint64_t malformed = 0;
  uint64_t non_ip = 0;
};

struct Figures {
  FlowFigures flows;
  Counters counters;
};

auto row_of_flow(const Judgements::Flow& f, uint64_t now_ns) {
  return row_of(f.key, uint64_t{f.value.blocked}, age_ms(now_ns, f.last_seen_ns));
}

class UrlFilter final : public NfCore {
 public:
  UrlFilter(Config config, std::span<const MetadataField> metadata)
      : bits_(bits_of(metadata)), config_(std::move(config)), rules_(std::move(config_.rules)), flows_(config_.flows) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    flows_.expire(now_ns);
    for (size_t begin = 0; begin < packets.size(); begin += kFlowBatch) {
      const size_t count = std::min(packets.size() - begin, kFlowBatch);
      judge_batch(packets.subspan(begin, count), in, verdicts.subspan(begin, count), now_ns);
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField> metadata) const override {
    return std::make_unique<Next>(flows_, read_config(value), bits_of(metadata));
  }

  // Flows keep their verdicts. Hits are kept when the rules stay as they are.
  void take(NextConfig& next) noexcept override {
    auto& [config, rules, bits, flows] = static_cast<Next&>(next);
    if (rules.rules() != rules_.rules()) counters_.hits = {};
    bits_ = bits;
    std::swap(config_, config);
    std::swap(rules_, rules);
    flows_.take(flows);
  }

  // Refusals: the newest first.
  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures(
        [this] {
          return Figures{flows_.figures(), counters_};
        },
        [this, limit](const Figures& figures, RowForm) { return view(figures, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return export_flows(flows_, kRow, row_of_flow); }
  MovableTables movable_flows() override { return movable_flows_of(flows_, kRow, row_of_flow); }

  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    return import_flows(
        flows_, state, kRow, known,
        [](const auto& r, uint64_t now_ns) {
          const auto [blocked, idle_ms] = numbers_behind_flow(r);
          return Judgements::Flow{flow_of_row(r), {blocked != 0}, time_at_age(now_ns, idle_ms)};
        },
        [](const auto&, const auto&) {});
  }

 private:
  static ClassBits bits_of(std::span<const MetadataField> metadata) {
    return ClassBits(metadata, "verdict", {"allowed", "blocked"});
  }

  json view(const Figures& figures, size_t limit) const {
    const auto& [flows, counters] = figures;
    const auto& all = rules_.rules();
    json rules = json::array();
    for (size_t i = 0; i < std::min(limit, all.size()); ++i)
      rules.push_back({{"index", i}, {"action", all[i].block ? "block" : "allow"}, {"requests", counters.hits[i]}});
    json refusals = json::array();
    counters.refusals.for_each(limit, [&](const Refusal& refusal) {
      json& row = refusals.emplace_back(flow_json(refusal.flow));
      row["at_ms"] = wall_ms_at(refusal.at_ns);
      row["host"] = text_of(refusal.host.data());
      row["rule"] = refusal.rule ? json(*refusal.rule) : json(nullptr);
    });
    return {{"http_requests", counters.http},
            {"tls_hellos", counters.tls},
            {"unreadable", counters.unreadable},
            {"by_default", counters.by_default},
            {"requests_blocked", counters.requests_blocked},
            {"packets_blocked", counters.packets_blocked},
            {"malformed", counters.malformed},
            {"non_ip", counters.non_ip},
            {"flow_count", flows.size},
            {"max_flows", flows.capacity},
            {"flows_evicted", flows.evicted + flows.lost_by_import},
            {"rules", std::move(rules)},
            {"refusals", std::move(refusals)}};
  }

  // What clients send need not be UTF-8, which JSON is.
  static std::string text_of(std::string_view host) {
    std::string out(host);
    std::ranges::replace_if(
        out, [](char c) { return c < ' ' || c > '~'; }, '?');
    return out;
  }

  void judge_batch(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    std::array<FlowTuple, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes;
    for (size_t i = 0; i < packets.size(); ++i) {
      set_flow(keys[i], packets[i].parsed, in);
      __builtin_prefetch(packets[i].data + packets[i].parsed.payload_offset);
    }
    flows_.look_up({keys.data(), packets.size()}, hashes);
    for (size_t i = 0; i < packets.size(); ++i) {
      NfPacket& packet = packets[i];
      uint8_t klass = kUnset;
      const auto reason = judge(packet, in, keys[i], hashes[i], now_ns, klass);
      bits_.write(packet.metadata, klass);
      verdicts[i] = {.drop = reason.has_value(), .drop_reason = reason.value_or(kBlocked), .out = in};
    }
  }

  // Why the packet is dropped, and in any case the class of its flow.
  std::optional<DropReason> judge(const NfPacket& packet, Direction in, const FlowTuple& key, uint32_t hash,
                                  uint64_t now_ns, uint8_t& klass) {
    const ParsedPacket& p = packet.parsed;
    if (p.kind == PacketKind::kMalformed) {
      ++counters_.malformed;
      return kMalformed;
    }
    if (p.kind == PacketKind::kNonIp) ++counters_.non_ip;
    if (!is_tcp(p) || !looks_at(in == Direction::kForward ? p.dst_port : p.src_port)) return std::nullopt;
    Judgements::Entry* flow = live(packet, in, key, hash, now_ns);
    std::optional<DropReason> reason;
    const bool settled = flow != nullptr && flow->value.blocked;
    if (in == Direction::kForward && p.payload_length > 0 && !settled) {
      const auto verdict = judge_request(packet, key, now_ns);
      if (verdict.unreadable && verdict.block) reason = kUnreadable;
      if (verdict.judged) {
        if (flow == nullptr) {
          flow = &flows_.insert_evicting(key, hash, now_ns, {verdict.block});
        } else {
          flow->value.blocked = verdict.block;
        }
      }
    }
    if (flow == nullptr) return std::nullopt;
    flows_.touch(*flow, now_ns);
    klass = flow->value.blocked ? kBlockedClass : kAllowed;
    if (!flow->value.blocked) return std::nullopt;
    ++counters_.packets_blocked;
    return config_.drop ? std::optional(reason.value_or(kBlocked)) : std::nullopt;
  }

  bool looks_at(uint16_t port) const {
    if (config_.ports.empty()) return true;
    return std::ranges::any_of(config_.ports,
                               [&](const PortRange& range) { return port >= range.lo && port <= range.hi; });
  }

  // The verdict on a packet's flow, unless a new connection begins or it was idle for too long.
  Judgements::Entry* live(const NfPacket& packet, Direction in, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    Judgements::Entry* flow = flows_.find(key, hash);
    if (flow == nullptr) return nullptr;
    const bool begins = in == Direction::kForward && (tcp_flags(packet) & (kTcpSyn | kTcpAck)) == kTcpSyn;
    const bool idle = flows_.idle_too_long(*flow, now_ns);
    if (!idle && !begins) return flow;
    flows_.table().erase(*flow);
    if (idle) flows_.count_expired();
    return nullptr;
  }

  struct Verdict {
    bool judged;
    bool block;
    bool unreadable;
  };

  Verdict judge_request(const NfPacket& packet, const FlowTuple& key, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    const RequestKind kind = request_.read({packet.data + p.payload_offset, p.payload_length});
    std::optional<uint16_t> rule;
    bool block = false;
    switch (kind) {
      case RequestKind::kNone:
        return {};
      case RequestKind::kUnreadable:
        ++counters_.unreadable;
        if (!config_.block_unreadable) return {};
        block = true;
        break;
      default:
        ++(kind == RequestKind::kHttp ? counters_.http : counters_.tls);
        rule = rules_.first_match(request_, kind);
        ++(rule ? counters_.hits[*rule] : counters_.by_default);
        block = rule ? rules_.rules()[*rule].block : config_.default_block;
    }
    if (block) note_refusal(key, rule, now_ns);
    return {.judged = true, .block = block, .unreadable = kind == RequestKind::kUnreadable};
  }

  void note_refusal(const FlowTuple& key, std::optional<uint16_t> rule, uint64_t now_ns) {
    ++counters_.requests_blocked;
    Refusal& refusal = counters_.refusals.add();
    refusal = {.at_ns = now_ns, .flow = key, .rule = rule, .host = {}};
    const std::string_view host = request_.host().substr(0, kShownHost);
    std::ranges::copy(host, refusal.host.begin());
  }

  struct Next final : NextConfig {
    Next(const Judgements& from, Config of, const ClassBits& where)
        : config(std::move(of)), rules(std::move(config.rules)), bits(where), flows(from, config.flows) {}
    Config config;
    UrlRules rules;
    ClassBits bits;
    Judgements::Resize flows;
  };

  ClassBits bits_;
  Config config_;
  UrlRules rules_;
  Judgements flows_;
  Request request_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<UrlFilter>(read_config(config), metadata);
}

}  // namespace orrery::url_filter
