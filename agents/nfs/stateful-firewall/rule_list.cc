// SPDX-License-Identifier: Apache-2.0
#include "nfs/stateful-firewall/rule_list.h"

namespace orrery::stateful_firewall {
namespace {

// Adds the rule if its addresses, so far as it has any, are of this IP version.
template <class Prefix>
void add(std::vector<ConnectionRule<Prefix>>& rules, ConnectionRule<Prefix> rule, const std::optional<IpPrefix>& src,
         const std::optional<IpPrefix>& dst) {
  for (const auto& [prefix, of_rule] : {std::pair(&src, &rule.src), std::pair(&dst, &rule.dst)}) {
    if (!*prefix) continue;
    const auto* of_version = std::get_if<Prefix>(&**prefix);
    if (of_version == nullptr) return;
    *of_rule = *of_version;
  }
  rules.push_back(rule);
}

}  // namespace

ConnectionRules read_connection_rules(ConfigReader& reader) {
  const auto& items = reader.array_or_empty("rules", kMaxConnectionRules);
  ConnectionRules rules;
  for (size_t i = 0; i < items.size(); ++i) {
    ConfigReader item(items[i], reader.pointer_to("rules", i));
    rules.allow.push_back(item.choice("action", {"allow", "deny"}) == "allow");
    const auto [src, dst] = item.address_prefixes("src", "dst");
    const auto proto = item.protocol("proto");
    const PortRange dst_port = item.ports("dst_port").value_or(PortRange{0, UINT16_MAX});
    item.done();
    const auto index = static_cast<uint8_t>(i);
    add(rules.ipv4, {.proto = proto, .dst_port = dst_port, .index = index}, src, dst);
    add(rules.ipv6, {.proto = proto, .dst_port = dst_port, .index = index}, src, dst);
  }
  return rules;
}

}  // namespace orrery::stateful_firewall
