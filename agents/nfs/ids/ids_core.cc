// SPDX-License-Identifier: Apache-2.0
#include "nfs/ids/ids_core.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/ids/default_rules.h"
#include "nfs/ids/unsafe_connection.h"
#include "nfs/movable_flows.h"
#include "nfs/patterns/payload_search.h"
#include "nfs/recent.h"

namespace orrery::ids {
namespace {

using nlohmann::json;

constexpr size_t kMaxRules = 1024;
constexpr size_t kMaxIdBytes = 40;
constexpr size_t kMaxPatternBytes = 1000;
constexpr size_t kAlerts = 64;
// What follows a FIN: its copies, and acknowledgements.
constexpr uint64_t kClosingNs = 10'000'000'000;
constexpr uint32_t kNoRule = UINT32_MAX;
constexpr uint8_t kSafe = 1, kUnsafe = 2;

std::vector<Pattern> patterns_of(std::span<const IdsRule> rules) {
  std::vector<Pattern> patterns;
  patterns.reserve(rules.size());
  for (const IdsRule& rule : rules)
    patterns.push_back(
        {rule.pattern, rule.regex, rule.nocase, "/rules/" + std::to_string(patterns.size()) + "/pattern"});
  return patterns;
}

struct Config {
  std::vector<IdsRule> rules;
  bool sticky;
  FlowLimits flows;
  std::optional<StreamLimits> streams;  // nothing: packets are searched one by one
};

IdsRule read_rule(const json& value, std::string pointer) {
  ConfigReader reader(value, std::move(pointer));
  IdsRule rule;
  rule.id = reader.string("id", kMaxIdBytes);
  rule.pattern = reader.pattern("pattern", kMaxPatternBytes);
  rule.regex = reader.choice_or("kind", {"literal", "regex"}, "literal") == "regex";
  rule.nocase = reader.boolean_or("nocase", true);
  reader.done();
  return rule;
}

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  const auto& items = reader.array_or_empty("rules", kMaxRules);
  config.sticky = reader.boolean_or("sticky", true);
  config.flows.max_flows = static_cast<uint32_t>(reader.integer_or("max_flows", 1, kMaxFlows, 65536));
  config.flows.idle_ns = reader.integer_or("idle_timeout_s", 1, 86400, 300) * 1'000'000'000u;
  config.flows.transitory_idle_ns = std::min(kClosingNs, config.flows.idle_ns);
  config.flows.granularity_ns = config.flows.transitory_idle_ns / 64;
  config.streams = read_stream_limits(reader);
  reader.done();
  if (!value.contains("rules")) config.rules = default_ids_rules();
  for (size_t i = 0; i < items.size(); ++i) {
    IdsRule rule = read_rule(items[i], reader.pointer_to("rules", i));
    if (std::ranges::find(config.rules, rule.id, &IdsRule::id) != config.rules.end())
      throw ConfigError(reader.pointer_to("rules", i) + "/id", "appears twice");
    config.rules.push_back(std::move(rule));
  }
  return config;
}

std::unique_ptr<PayloadSearch> search_for(const Config& config) {
  return std::make_unique<PayloadSearch>(patterns_of(config.rules), config.streams);
}

using UnsafeFlows = FlowStore<FlowTuple, UnsafeConnection>;

// Of flow state: src, dst, src port, dst port, proto, ms since the first hit, next sequence number, closing, idle ms;
// youngest first.
constexpr auto kRow = flow_layout(kMaxAgeMs, UINT32_MAX, 1u, kMaxAgeMs);

struct Alert {
  uint64_t at_ns;
  FlowTuple flow;
  std::array<char, kMaxIdBytes + 1> rule_id;
};

struct Counters {
  std::array<uint64_t, kMaxRules> hits{};  // of each rule
  Recent<Alert, kAlerts> alerts;
  uint64_t safe = 0;
  uint64_t unsafe = 0;
  uint64_t malformed = 0;
  uint64_t non_ip = 0;
  uint64_t not_scanned = 0;
};

struct Figures {
  FlowFigures flows;
  Counters counters;
  PayloadSearch::Figures search;
};

auto row_of_flow(const UnsafeFlows::Flow& f, uint64_t now_ns) {
  return row_of(f.key, age_ms(now_ns, f.value.since_ns), uint64_t{f.value.next_sequence}, uint64_t{f.value.closing},
                age_ms(now_ns, f.last_seen_ns));
}

class Ids final : public NfCore {
 public:
  Ids(Config config, std::span<const MetadataField> metadata)
      : bits_(bits_of(metadata)), config_(std::move(config)), search_(search_for(config_)), flows_(config_.flows) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    flows_.expire(now_ns);
    search_->expire(now_ns);
    for (size_t begin = 0; begin < packets.size(); begin += kFlowBatch)
      inspect_batch(packets.subspan(begin, std::min(packets.size() - begin, kFlowBatch)), now_ns);
    for (NfVerdict& verdict : verdicts) verdict = {.drop = false, .drop_reason = 0, .out = in};
  }

  bool reads_streams() const override { return search_->reads_streams(); }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField> metadata) const override {
    Config config = read_config(value);
    const bool searches_alike = config.rules == config_.rules && config.streams == config_.streams;
    return std::make_unique<Next>(flows_, std::move(config), bits_of(metadata), searches_alike);
  }

  // Hits of a rule that stays as it was are kept; without `sticky` no flow is. With other rules streams are searched
  // from where they are.
  void take(NextConfig& next) noexcept override {
    auto& [config, bits, search, hits, flows] = static_cast<Next&>(next);
    for (size_t i = 0; i < config.rules.size(); ++i) {
      const auto same = std::ranges::find(config_.rules, config.rules[i]);
      if (same != config_.rules.end()) hits[i] = counters_.hits[static_cast<size_t>(same - config_.rules.begin())];
    }
    counters_.hits = hits;
    bits_ = bits;
    std::swap(config_, config);
    if (search != nullptr) std::swap(search_, search);
    flows_.take(
        flows, [&](const auto&) { return config_.sticky; }, [](const auto&) {});
  }

  // Alerts: the newest first.
  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures(
        [this] {
          return Figures{flows_.figures(), counters_, search_->figures()};
        },
        [this, limit](const Figures& figures, RowForm) { return view(figures, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return export_flows(flows_, kRow, row_of_flow); }
  MovableTables movable_flows() override { return movable_flows_of(flows_, kRow, row_of_flow); }

  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    auto import = import_flows(
        flows_, state, kRow, known,
        [](const auto& r, uint64_t now_ns) {
          const auto [since_ms, next_sequence, closing, idle_ms] = numbers_behind_flow(r);
          return UnsafeFlows::Flow{flow_of_row(r),
                                   {time_at_age(now_ns, since_ms), static_cast<uint32_t>(next_sequence), closing != 0},
                                   time_at_age(now_ns, idle_ms)};
        },
        [](const auto&, const auto&) {});
    return config_.sticky ? std::move(import) : import_at_once([] {});
  }

 private:
  static ClassBits bits_of(std::span<const MetadataField> metadata) {
    return ClassBits(metadata, "verdict", {"safe", "unsafe"});
  }

  json view(const Figures& figures, size_t limit) const {
    const auto& [flows, counters, search] = figures;
    json rules = json::array();
    for (size_t i = 0; i < std::min(limit, config_.rules.size()); ++i)
      rules.push_back({{"id", config_.rules[i].id}, {"hits", counters.hits[i]}});
    json alerts = json::array();
    counters.alerts.for_each(limit, [&](const Alert& alert) {
      json& row = alerts.emplace_back(flow_json(alert.flow));
      row["at_ms"] = wall_ms_at(alert.at_ns);
      row["rule"] = alert.rule_id.data();
    });
    json out = {{"safe", counters.safe},
                {"unsafe", counters.unsafe},
                {"malformed", counters.malformed},
                {"non_ip", counters.non_ip},
                {"not_scanned", counters.not_scanned},
                {"alert_count", counters.alerts.count()},
                {"unsafe_flows", flows.size},
                {"max_flows", flows.capacity},
                {"flows_evicted", flows.evicted + flows.lost_by_import},
                {"rules", std::move(rules)},
                {"alerts", std::move(alerts)}};
    if (config_.streams) PayloadSearch::write(search, out);
    return out;
  }

  void inspect_batch(std::span<NfPacket> packets, uint64_t now_ns) {
    std::array<FlowTuple, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes{};
    for (size_t i = 0; i < packets.size(); ++i) {
      const ParsedPacket& p = packets[i].parsed;
      __builtin_prefetch(packets[i].data + p.payload_offset);
      if (config_.sticky) keys[i].set(p);
    }
    if (config_.sticky) flows_.look_up({keys.data(), packets.size()}, hashes);
    for (size_t i = 0; i < packets.size(); ++i) {
      NfPacket& packet = packets[i];
      bool unsafe = false;
      switch (packet.parsed.kind) {
        case PacketKind::kMalformed:
          ++counters_.malformed;
          unsafe = true;
          break;
        case PacketKind::kNonIp:
          ++counters_.non_ip;
          break;
        default:
          unsafe = inspect(packet, keys[i], hashes[i], now_ns);
      }
      ++(unsafe ? counters_.unsafe : counters_.safe);
      bits_.write(packet.metadata, unsafe ? kUnsafe : kSafe);
    }
  }

  bool inspect(const NfPacket& packet, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    if (first_rule_ != kNoRule) hit_rules_.reset();
    first_rule_ = kNoRule;
    const bool scanned =
        search_
            ->search(
                packet, now_ns, [](void* self, uint32_t rule) { static_cast<Ids*>(self)->hit(rule); }, this)
            .whole;
    counters_.not_scanned += !scanned;
    const bool unsafe = !scanned || first_rule_ != kNoRule;
    if (first_rule_ != kNoRule) raise_alert(packet, now_ns);
    if (!config_.sticky) return unsafe;
    const TcpSegment segment = is_tcp(p) ? TcpSegment::of(packet) : TcpSegment{};
    if (UnsafeFlows::Entry* entry = live(key, hash, segment, now_ns)) {
      entry->value.follow(segment);
      flows_.touch(*entry, now_ns);
      return true;
    }
    if (!unsafe) return false;
    UnsafeConnection connection{.since_ns = now_ns, .next_sequence = segment.sequence};
    connection.follow(segment);
    flows_.insert_evicting(key, hash, now_ns, connection);
    return true;
  }

  // The mark of a packet's connection.
  UnsafeFlows::Entry* live(const FlowTuple& key, uint32_t hash, const TcpSegment& segment, uint64_t now_ns) {
    if (flows_.table().size() == 0) return nullptr;
    UnsafeFlows::Entry* entry = flows_.find(key, hash);
    if (entry == nullptr) return nullptr;
    const bool idle = flows_.idle_too_long(*entry, now_ns);
    if (!idle && !entry->value.is_ended_by(segment)) return entry;
    flows_.table().erase(*entry);
    if (idle) flows_.count_expired();
    return nullptr;
  }

  void hit(uint32_t rule) {
    if (hit_rules_[rule]) return;
    hit_rules_[rule] = true;
    ++counters_.hits[rule];
    first_rule_ = std::min(first_rule_, rule);
  }

  void raise_alert(const NfPacket& packet, uint64_t now_ns) {
    Alert& alert = counters_.alerts.add();
    alert.at_ns = now_ns;
    alert.flow = FlowTuple::of(packet.parsed);
    const std::string& id = config_.rules[first_rule_].id;
    std::memcpy(alert.rule_id.data(), id.c_str(), id.size() + 1);
  }

  struct Next final : NextConfig {
    Next(const UnsafeFlows& from, Config of, const ClassBits& where, bool searches_alike)
        : config(std::move(of)),
          bits(where),
          search(searches_alike ? nullptr : search_for(config)),
          flows(from, config.flows, !config.sticky) {}
    Config config;
    ClassBits bits;
    std::unique_ptr<PayloadSearch> search;  // null: as before
    std::array<uint64_t, kMaxRules> hits{};
    UnsafeFlows::Resize flows;
  };

  ClassBits bits_;
  Config config_;
  std::unique_ptr<PayloadSearch> search_;
  UnsafeFlows flows_;
  uint32_t first_rule_ = kNoRule;  // lowest rule that hit the packet at hand
  std::bitset<kMaxRules> hit_rules_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<Ids>(read_config(config), metadata);
}

}  // namespace orrery::ids
