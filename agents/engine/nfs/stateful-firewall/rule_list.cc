// SPDX-License-Identifier: Apache-2.0
#include "nfs/stateful-firewall/rule_list.h"

namespace orrery {

std::vector<ConnectionRule> read_connection_rules(ConfigReader& reader) {
  const auto& items = reader.array("rules", kMaxConnectionRules);
  std::vector<ConnectionRule> rules;
  rules.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    ConfigReader item(items[i], reader.at("rules", i));
    ConnectionRule& rule = rules.emplace_back();
    rule.allow = item.choice("action", {"allow", "deny"}, std::nullopt) == "allow";
    if (const auto src = item.prefix("src")) rule.src = *src;
    if (const auto dst = item.prefix("dst")) rule.dst = *dst;
    rule.proto = item.protocol("proto");
    if (const auto ports = item.ports("dst_port")) rule.dst_port = *ports;
    item.finish();
  }
  return rules;
}

}  // namespace orrery
