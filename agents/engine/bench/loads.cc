// SPDX-License-Identifier: Apache-2.0
#include "loads.h"

#include <string>

namespace orrery::bench {
namespace {

using nlohmann::json;

// None of them matches, so every packet meets all.
json firewall_rules(int count) {
  json rules = json::array();
  for (int i = 0; i < count; ++i)
    rules.push_back({{"action", "deny"},
                     {"src", "10." + std::to_string(i) + ".0.0/16"},
                     {"proto", i % 2 == 0 ? "tcp" : "udp"},
                     {"dst_port", std::to_string(1000 + i)}});
  return {{"rules", std::move(rules)}, {"default_action", "allow"}};
}

json ids_rules(int count) {
  json rules = json::array();
  for (int i = 0; i < count; ++i)
    rules.push_back(
        {{"id", "rule-" + std::to_string(i)}, {"pattern", "attack-" + std::to_string(i * 7919) + "-payload"}});
  return {{"rules", std::move(rules)}};
}

// Every second flow has a mapping.
json mappings() {
  json addresses = json::array(), list = json::array();
  for (int i = 0; i < 256; ++i) {
    addresses.push_back("203.0.113." + std::to_string(i));
    list.push_back({{"inside", "198.18." + std::to_string(i / 128) + "." + std::to_string(2 * (i % 128))}});
  }
  return {{"external_addresses", std::move(addresses)}, {"mappings", std::move(list)}};
}

json balancer() {
  json backends = json::array();
  for (int i = 1; i <= 8; ++i) backends.push_back({{"address", "10.0.0." + std::to_string(i)}});
  return {
      {"virtual_address", "198.19.0.1"}, {"external_addresses", {"203.0.113.1"}}, {"backends", std::move(backends)}};
}

json hosts(int count) {
  json rules = json::array();
  for (int i = 0; i < count; ++i)
    rules.push_back({{"action", "block"}, {"host", "*.h" + std::to_string(i) + ".example"}});
  return {{"rules", std::move(rules)}};
}

struct Load {
  const char* nf;
  json config;
};

const std::vector<Load>& loads() {
  static const std::vector<Load> all{
      {"crypto-tunnel", {{"key", std::string(64, '7')}, {"cipher", "aes-128-ctr"}, {"acceleration", "instructions"}}},
      {"ddos-detector", json::object()},
      {"elephant-detector", json::object()},
      {"firewall", firewall_rules(100)},
      {"ids", ids_rules(100)},
      {"l2-forwarder", json::object()},
      {"load-balancer", balancer()},
      {"monitor", json::object()},
      {"nat", {{"external_addresses", {"203.0.113.1"}}}},
      {"rate-limiter", {{"rate_bps", 1'000'000'000'000}, {"burst_bytes", 1'000'000}}},
      {"sqli-detector", json::object()},
      {"stateful-firewall", firewall_rules(16)},
      {"static-nat", mappings()},
      {"traffic-normalizer", json::object()},
      {"url-filter", hosts(256)},
  };
  return all;
}

}  // namespace

const std::vector<const char*>& loaded_nfs() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> out;
    for (const Load& load : loads()) out.push_back(load.nf);
    return out;
  }();
  return names;
}

const std::vector<const char*>& four_nfs() {
  static const std::vector<const char*> names{"firewall", "monitor", "nat", "l2-forwarder"};
  return names;
}

nlohmann::json load_of(std::string_view nf) {
  for (const Load& load : loads())
    if (load.nf == nf) return load.config;
  return json::object();
}

}  // namespace orrery::bench
