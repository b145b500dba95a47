// SPDX-License-Identifier: Apache-2.0
#include "nfs/stateful-firewall/rule_list.h"

namespace orrery::stateful_firewall {

std::vector<ConnectionRule> read_connection_rules(ConfigReader& reader) {
  const auto& items = reader.array_or_empty("rules", kMaxConnectionRules);
  std::vector<ConnectionRule> rules;
  rules.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    ConfigReader item(items[i], reader.pointer_to("rules", i));
    ConnectionRule& rule = rules.emplace_back();
    rule.allow = item.choice("action", {"allow", "deny"}) == "allow";
    if (const auto src = item.prefix("src")) rule.src = *src;
    if (const auto dst = item.prefix("dst")) rule.dst = *dst;
    rule.proto = item.protocol("proto");
    if (const auto ports = item.ports("dst_port")) rule.dst_port = *ports;
    item.done();
  }
  return rules;
}

}  // namespace orrery::stateful_firewall
