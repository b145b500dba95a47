// SPDX-License-Identifier: Apache-2.0
#include "nfs/firewall/firewall_core.h"

#include <tuple>

#include "nfs/config_reader.h"
#include "nfs/firewall/rule_set.h"
#include "nfs/flow_state.h"

namespace orrery::firewall {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"denied", "malformed"};
constexpr uint8_t kDenied = 0;
constexpr uint8_t kMalformed = 1;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

struct Counters {
  std::array<uint64_t, RuleSet::kMaxRules> hits{};  // of each rule
  uint64_t allowed = 0;
  uint64_t denied = 0;
  uint64_t by_default = 0;
  uint64_t non_ip = 0;
  uint64_t malformed = 0;
};

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

  std::unique_ptr<NextConfig> prepare(const json& config, std::span<const MetadataField>) const override {
    ConfigReader reader(config, "");
    const bool default_allow = reader.choice_or("default_action", {"allow", "deny"}, "allow") == "allow";
    const auto& items = reader.array_or_empty("rules", RuleSet::kMaxRules);
    reader.done();
    std::vector<FirewallRule> rules;
    rules.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) rules.push_back(read_rule(items[i], reader.pointer_to("rules", i)));
    return std::make_unique<Next>(default_allow, std::move(rules));
  }

  // Hits are kept when the rules stay as they are.
  void take(NextConfig& next) noexcept override {
    auto& [default_allow, rules, rule_set] = static_cast<Next&>(next);
    default_allow_ = default_allow;
    if (rules == rules_) return;
    rules_.swap(rules);
    counters_.hits = {};
    std::swap(rule_set_, rule_set);
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures([this] { return counters_; },
                        [this, limit](const Counters& counters, RowForm) { return view(counters, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override { return import_no_flows(state); }

 private:
  json view(const Counters& counters, size_t limit) const {
    json rules = json::array();
    for (size_t i = 0; i < std::min(limit, rules_.size()); ++i)
      rules.push_back({{"index", i}, {"action", rules_[i].allow ? "allow" : "deny"}, {"packets", counters.hits[i]}});
    return {{"rules", std::move(rules)},      {"rule_count", rules_.size()},       {"allowed", counters.allowed},
            {"denied", counters.denied},      {"by_default", counters.by_default}, {"non_ip", counters.non_ip},
            {"malformed", counters.malformed}};
  }

  static FirewallRule read_rule(const json& value, std::string pointer) {
    ConfigReader reader(value, std::move(pointer));
    FirewallRule rule;
    rule.allow = reader.choice("action", {"allow", "deny"}) == "allow";
    std::tie(rule.src, rule.dst) = reader.address_prefixes("src", "dst");
    rule.proto = reader.protocol("proto");
    rule.src_port = reader.ports("src_port");
    rule.dst_port = reader.ports("dst_port");
    reader.done();
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
      if (p.has_ipv6() && i < packets.size()) {
        batch.ipv6 |= uint32_t{1} << i;
        batch.ipv6_src[i] = p.ipv6_src;
        batch.ipv6_dst[i] = p.ipv6_dst;
      }
      batch.has_ports[i] = p.kind == PacketKind::kIpTransport && (p.ip_proto == kTcp || p.ip_proto == kUdp);
    }
    std::array<uint16_t, RuleSet::kBatch> rules;
    rule_set_.match(batch, packets.size(), rules);
    for (size_t i = 0; i < packets.size(); ++i) verdicts[i] = judge(packets[i].parsed.kind, rules[i], in);
  }

  NfVerdict judge(PacketKind kind, uint16_t rule, Direction in) {
    if (kind == PacketKind::kMalformed) {
      ++counters_.malformed;
      return {.drop = true, .drop_reason = kMalformed, .out = in};
    }
    if (kind == PacketKind::kNonIp) {
      ++counters_.non_ip;
      return {.drop = false, .drop_reason = 0, .out = in};
    }
    bool allow = default_allow_;
    if (rule == RuleSet::kNoRule) {
      ++counters_.by_default;
    } else {
      ++counters_.hits[rule];
      allow = rules_[rule].allow;
    }
    ++(allow ? counters_.allowed : counters_.denied);
    return {.drop = !allow, .drop_reason = kDenied, .out = in};
  }

  struct Next final : NextConfig {
    Next(bool allow, std::vector<FirewallRule> list) : default_allow(allow), rules(std::move(list)), rule_set(rules) {}
    bool default_allow;
    std::vector<FirewallRule> rules;
    RuleSet rule_set;
  };

  bool default_allow_ = true;
  std::vector<FirewallRule> rules_;
  RuleSet rule_set_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  auto nf = std::make_unique<Firewall>();
  nf->configure(config);
  return nf;
}

}  // namespace orrery::firewall
