// SPDX-License-Identifier: Apache-2.0
#include "nfs/ids/ids_core.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "nfs/config_reader.h"
#include "nfs/flow_rows.h"
#include "nfs/ids/default_rules.h"
#include "nfs/ids/matcher.h"
#include "support/clock.h"
#include "support/flow_table.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr size_t kBatch = 32;
constexpr size_t kMaxRules = 1024;
constexpr size_t kMaxIdBytes = 40;
constexpr size_t kMaxPatternBytes = 1000;
constexpr uint32_t kMaxFlows = 1u << 20;
constexpr size_t kAlerts = 64;
constexpr uint32_t kExpiriesPerBatch = 4;
constexpr uint32_t kNoRule = UINT32_MAX;

struct Config {
  std::vector<IdsRule> rules;
  bool sticky;
  uint32_t max_flows;
  uint64_t idle_ns;
};

IdsRule read_rule(const json& value, std::string pointer) {
  ConfigReader reader(value, std::move(pointer));
  IdsRule rule;
  rule.id = reader.text("id", kMaxIdBytes, std::nullopt);
  rule.pattern = reader.text("pattern", kMaxPatternBytes, std::nullopt);
  rule.regex = reader.choice("kind", {"literal", "regex"}, "literal") == "regex";
  rule.nocase = reader.boolean("nocase", true);
  reader.finish();
  return rule;
}

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  const auto& items = reader.array("rules", kMaxRules);
  config.sticky = reader.boolean("sticky", true);
  config.max_flows = static_cast<uint32_t>(reader.integer("max_flows", 1, kMaxFlows, 65536));
  config.idle_ns = reader.integer("idle_timeout_s", 1, 86400, 300) * 1'000'000'000u;
  reader.finish();
  if (!value.contains("rules")) config.rules = default_ids_rules();
  for (size_t i = 0; i < items.size(); ++i) {
    IdsRule rule = read_rule(items[i], reader.at("rules", i));
    if (std::ranges::find(config.rules, rule.id, &IdsRule::id) != config.rules.end())
      throw ConfigError(reader.at("rules", i) + "/id", "is there twice");
    config.rules.push_back(std::move(rule));
  }
  return config;
}

// The bits of the metadata word that say safe or unsafe; nothing is written when the plan gives none.
struct VerdictBits {
  uint16_t mask = 0;
  uint16_t safe = 0;
  uint16_t unsafe = 0;

  static VerdictBits from(std::span<const MetadataField> metadata) {
    VerdictBits bits;
    for (const MetadataField& field : metadata) {
      if (field.attribute != "verdict") continue;
      if (field.width == 0 || field.offset + field.width > 16)
        throw ConfigError("", "the metadata field of verdict does not fit into 16 bits");
      bits.mask = static_cast<uint16_t>(((1u << field.width) - 1) << field.offset);
      bits.safe = bits.code_of(field, "safe");
      bits.unsafe = bits.code_of(field, "unsafe");
    }
    return bits;
  }

 private:
  uint16_t code_of(const MetadataField& field, std::string_view value) const {
    for (const auto& [name, code] : field.values)
      if (name == value && code != 0 && code >> field.width == 0) return static_cast<uint16_t>(code << field.offset);
    throw ConfigError("", "the metadata field of verdict has no usable code for " + std::string(value));
  }
};

struct UnsafeFlow {
  uint64_t since_ns;
};

using UnsafeFlows = FlowTable<FlowTuple, UnsafeFlow>;

struct Alert {
  uint64_t at_ns;
  FlowTuple flow;
  std::array<char, kMaxIdBytes + 1> rule_id;
};

class Ids final : public NfCore {
 public:
  Ids(Config config, std::span<const MetadataField> metadata)
      : bits_(VerdictBits::from(metadata)),
        config_(std::move(config)),
        matcher_(config_.rules),
        hits_(config_.rules.size()),
        flows_(config_.max_flows, config_.idle_ns / 64) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    flows_.expire(now_ns, config_.idle_ns, kExpiriesPerBatch, [](const auto&) {});
    for (size_t begin = 0; begin < packets.size(); begin += kBatch)
      inspect_batch(packets.subspan(begin, std::min(packets.size() - begin, kBatch)), now_ns);
    for (NfVerdict& verdict : verdicts) verdict = {.drop = false, .drop_reason = 0, .out = in};
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& value) const override {
    return std::make_unique<Next>(read_config(value));
  }

  // Hits of a rule that stays as it was are kept.
  void take(NextConfig& next) noexcept override {
    auto& [config, matcher, hits, flows, keep] = static_cast<Next&>(next);
    for (size_t i = 0; i < hits.size(); ++i) {
      const auto same = std::ranges::find(config_.rules, config.rules[i]);
      if (same != config_.rules.end()) hits[i] = hits_[static_cast<size_t>(same - config_.rules.begin())];
    }
    if (config.sticky) copy_flows(flows_, flows, keep);
    std::swap(config_, config);
    std::swap(matcher_, matcher);
    std::swap(hits_, hits);
    std::swap(flows_, flows);
  }

  // Alerts: the newest first.
  json state(size_t limit) const override {
    json rules = json::array();
    for (size_t i = 0; i < std::min(limit, config_.rules.size()); ++i)
      rules.push_back({{"id", config_.rules[i].id}, {"hits", hits_[i]}});
    json alerts = json::array();
    for (uint64_t n = alert_count_; n > 0 && alert_count_ - n < kAlerts && alerts.size() < limit; --n) {
      const Alert& alert = alerts_[(n - 1) % kAlerts];
      alerts.push_back({{"at_ms", wall_ms_at(alert.at_ns)},
                        {"rule", alert.rule_id.data()},
                        {"src", address_text(alert.flow.src)},
                        {"dst", address_text(alert.flow.dst)},
                        {"proto", alert.flow.proto},
                        {"src_port", alert.flow.src_port},
                        {"dst_port", alert.flow.dst_port}});
    }
    return {{"safe", safe_},
            {"unsafe", unsafe_},
            {"malformed", malformed_},
            {"non_ip", non_ip_},
            {"not_scanned", not_scanned_},
            {"alert_count", alert_count_},
            {"unsafe_flows", flows_.size()},
            {"max_flows", flows_.capacity()},
            {"flows_evicted", evicted_},
            {"rules", std::move(rules)},
            {"alerts", std::move(alerts)}};
  }

  // Rows of [src, dst, src port, dst port, proto, ms since the first hit, idle ms], youngest first.
  json export_state() const override {
    const uint64_t now_ns = monotonic_ns();
    json flows = json::array();
    flows_.for_each([&](const UnsafeFlows::Entry& e) {
      flows.push_back({e.key.src, e.key.dst, e.key.src_port, e.key.dst_port, e.key.proto,
                       age_ms(now_ns, e.value.since_ns), age_ms(now_ns, e.last_seen_ns)});
      return flows.size() < kMaxExportedFlows;
    });
    return {{"flows", std::move(flows)}};
  }

  void import_state(const json& state) override {
    ConfigReader reader(state, "");
    const auto& rows = reader.array("flows", kMaxExportedFlows);
    reader.finish();
    constexpr uint64_t kMax[] = {UINT32_MAX, UINT32_MAX, UINT16_MAX, UINT16_MAX, 255, kMaxAgeMs, kMaxAgeMs};
    const auto flows = read_rows(rows, reader.at("flows"), kMax);
    if (!config_.sticky) return;
    const uint64_t now_ns = monotonic_ns();
    for (auto row = flows.rbegin(); row != flows.rend(); ++row) {
      const auto& r = *row;
      const FlowTuple key{static_cast<uint32_t>(r[0]), static_cast<uint32_t>(r[1]), static_cast<uint16_t>(r[2]),
                          static_cast<uint16_t>(r[3]), static_cast<uint32_t>(r[4])};
      const uint32_t hash = flows_.hash(key);
      if (flows_.find(key, hash) == nullptr)
        insert(key, hash, time_at_age(now_ns, r[6])).value = {time_at_age(now_ns, r[5])};
    }
  }

 private:
  static void copy_flows(const UnsafeFlows& from, UnsafeFlows& to, std::vector<const UnsafeFlows::Entry*>& keep) {
    from.for_each([&](const UnsafeFlows::Entry& e) {
      keep.push_back(&e);
      return keep.size() < to.capacity();
    });
    std::ranges::reverse(keep);
    for (const auto* e : keep) to.insert(e->key, to.hash(e->key), e->last_seen_ns).value = e->value;
  }

  void inspect_batch(std::span<NfPacket> packets, uint64_t now_ns) {
    std::array<uint32_t, kBatch> hashes{};
    for (size_t i = 0; i < packets.size(); ++i) {
      const ParsedPacket& p = packets[i].parsed;
      __builtin_prefetch(packets[i].data + p.payload_offset);
      if (!config_.sticky) continue;
      hashes[i] = flows_.hash(FlowTuple::of(p));
      flows_.prefetch(hashes[i]);
    }
    for (size_t i = 0; i < packets.size(); ++i) {
      NfPacket& packet = packets[i];
      bool unsafe = false;
      switch (packet.parsed.kind) {
        case PacketKind::kMalformed:
          ++malformed_;
          unsafe = true;
          break;
        case PacketKind::kNonIp:
          ++non_ip_;
          break;
        default:
          unsafe = inspect(packet, hashes[i], now_ns);
      }
      ++(unsafe ? unsafe_ : safe_);
      packet.metadata = static_cast<uint16_t>((packet.metadata & ~bits_.mask) | (unsafe ? bits_.unsafe : bits_.safe));
    }
  }

  bool inspect(const NfPacket& packet, uint32_t hash, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    first_rule_ = kNoRule;
    const bool scanned = matcher_.scan(
        {packet.data + p.payload_offset, p.payload_length},
        [](void* self, uint32_t rule) { static_cast<Ids*>(self)->hit(rule); }, this);
    not_scanned_ += !scanned;
    const bool unsafe = !scanned || first_rule_ != kNoRule;
    if (first_rule_ != kNoRule) raise_alert(packet, now_ns);
    if (!config_.sticky) return unsafe;
    const FlowTuple key = FlowTuple::of(p);
    if (UnsafeFlows::Entry* entry = flows_.size() == 0 ? nullptr : flows_.find(key, hash)) {
      flows_.touch(*entry, now_ns);
      return true;
    }
    if (unsafe) insert(key, hash, now_ns).value = {now_ns};
    return unsafe;
  }

  void hit(uint32_t rule) {
    ++hits_[rule];
    first_rule_ = std::min(first_rule_, rule);
  }

  void raise_alert(const NfPacket& packet, uint64_t now_ns) {
    Alert& alert = alerts_[alert_count_++ % kAlerts];
    alert.at_ns = now_ns;
    alert.flow = FlowTuple::of(packet.parsed);
    const std::string& id = config_.rules[first_rule_].id;
    std::memcpy(alert.rule_id.data(), id.c_str(), id.size() + 1);
  }

  UnsafeFlows::Entry& insert(const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    if (flows_.full()) {
      flows_.erase(*flows_.oldest());
      ++evicted_;
    }
    return flows_.insert(key, hash, now_ns);
  }

  VerdictBits bits_;
  struct Next final : NextConfig {
    explicit Next(Config of)
        : config(std::move(of)),
          matcher(config.rules),
          hits(config.rules.size()),
          flows(config.max_flows, config.idle_ns / 64) {
      keep.reserve(config.max_flows);
    }
    Config config;
    Matcher matcher;
    std::vector<uint64_t> hits;
    UnsafeFlows flows;
    std::vector<const UnsafeFlows::Entry*> keep;
  };

  Config config_;
  Matcher matcher_;
  std::vector<uint64_t> hits_;
  UnsafeFlows flows_;
  uint32_t first_rule_ = kNoRule;  // lowest rule that hit the packet at hand
  std::array<Alert, kAlerts> alerts_{};
  uint64_t alert_count_ = 0;
  uint64_t safe_ = 0;
  uint64_t unsafe_ = 0;
  uint64_t malformed_ = 0;
  uint64_t non_ip_ = 0;
  uint64_t not_scanned_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make_ids(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<Ids>(read_config(config), metadata);
}

}  // namespace orrery
