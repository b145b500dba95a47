// SPDX-License-Identifier: Apache-2.0
#include "nfs/firewall/firewall_core.h"

#include "nfs/config_reader.h"
#include "nfs/firewall/rule_set.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"denied", "malformed"};
constexpr uint8_t kDenied = 0;
constexpr uint8_t kMalformed = 1;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

class Firewall final : public NfCore {
 public:
  Firewall() : rule_set_({}) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t) override {
    for (size_t begin = 0; begin < packets.size(); begin += RuleSet::kBatch) {
      const size_t count = std::min(packets.size() - begin, RuleSet::kBatch);
      process_batch(packets.subspan(begin, count), in, verdicts.subspan(begin, count));
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& config) const override {
    ConfigReader reader(config, "");
    const bool default_allow = reader.choice("default_action", {"allow", "deny"}, "allow") == "allow";
    const auto& items = reader.array("rules", RuleSet::kMaxRules);
    reader.finish();
    std::vector<FirewallRule> rules;
    rules.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) rules.push_back(read_rule(items[i], reader.at("rules", i)));
    return std::make_unique<Next>(default_allow, std::move(rules));
  }

  // Hits are kept when the rules stay as they are.
  void take(NextConfig& next) noexcept override {
    auto& [default_allow, rules, hits, rule_set] = static_cast<Next&>(next);
    default_allow_ = default_allow;
    if (rules == rules_) return;
    rules_.swap(rules);
    hits_.swap(hits);
    std::swap(rule_set_, rule_set);
  }

  json state(size_t limit) const override {
    json rules = json::array();
    for (size_t i = 0; i < std::min(limit, rules_.size()); ++i)
      rules.push_back({{"index", i}, {"action", rules_[i].allow ? "allow" : "deny"}, {"packets", hits_[i]}});
    return {{"rules", std::move(rules)}, {"rule_count", rules_.size()}, {"allowed", allowed_},    {"denied", denied_},
            {"by_default", by_default_}, {"non_ip", non_ip_},           {"malformed", malformed_}};
  }

  json export_state() const override { return json::object(); }

  void import_state(const json& state) override { ConfigReader(state, "").finish(); }

 private:
  static FirewallRule read_rule(const json& value, std::string pointer) {
    ConfigReader reader(value, std::move(pointer));
    FirewallRule rule;
    rule.allow = reader.choice("action", {"allow", "deny"}, std::nullopt) == "allow";
    rule.src = reader.prefix("src");
    rule.dst = reader.prefix("dst");
    rule.proto = reader.protocol("proto");
    rule.src_port = reader.ports("src_port");
    rule.dst_port = reader.ports("dst_port");
    reader.finish();
    return rule;
  }

  void process_batch(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts) {
    RuleSet::Batch batch;
    for (size_t i = 0; i < RuleSet::kBatch; ++i) {
      const ParsedPacket& p = packets[std::min(i, packets.size() - 1)].parsed;
      batch.src[i] = p.ip_src;
      batch.dst[i] = p.ip_dst;
      batch.src_port[i] = p.src_port;
      batch.dst_port[i] = p.dst_port;
      batch.proto[i] = p.ip_proto;
      batch.has_ports[i] = p.kind == PacketKind::kIpTransport && (p.ip_proto == kTcp || p.ip_proto == kUdp);
    }
    std::array<uint16_t, RuleSet::kBatch> rules;
    rule_set_.match(batch, packets.size(), rules);
    for (size_t i = 0; i < packets.size(); ++i) verdicts[i] = judge(packets[i].parsed.kind, rules[i], in);
  }

  NfVerdict judge(PacketKind kind, uint16_t rule, Direction in) {
    if (kind == PacketKind::kMalformed) {
      ++malformed_;
      return {.drop = true, .drop_reason = kMalformed, .out = in};
    }
    if (kind == PacketKind::kNonIp) {
      ++non_ip_;
      return {.drop = false, .drop_reason = 0, .out = in};
    }
    bool allow = default_allow_;
    if (rule == RuleSet::kNoRule) {
      ++by_default_;
    } else {
      ++hits_[rule];
      allow = rules_[rule].allow;
    }
    ++(allow ? allowed_ : denied_);
    return {.drop = !allow, .drop_reason = kDenied, .out = in};
  }

  struct Next final : NextConfig {
    Next(bool allow, std::vector<FirewallRule> list)
        : default_allow(allow), rules(std::move(list)), hits(rules.size()), rule_set(rules) {}
    bool default_allow;
    std::vector<FirewallRule> rules;
    std::vector<uint64_t> hits;
    RuleSet rule_set;
  };

  bool default_allow_ = true;
  std::vector<FirewallRule> rules_;
  std::vector<uint64_t> hits_;
  RuleSet rule_set_;
  uint64_t allowed_ = 0;
  uint64_t denied_ = 0;
  uint64_t by_default_ = 0;
  uint64_t non_ip_ = 0;
  uint64_t malformed_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make_firewall(const json& config, std::span<const MetadataField>) {
  auto nf = std::make_unique<Firewall>();
  nf->configure(config);
  return nf;
}

}  // namespace orrery
