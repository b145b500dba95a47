// SPDX-License-Identifier: Apache-2.0
#include "nfs/registry.h"

#include <algorithm>
#include <array>

#include "nfs/busy-loop/busy_loop_core.h"
#include "nfs/crypto-tunnel/crypto_tunnel_core.h"
#include "nfs/ddos-detector/ddos_detector_core.h"
#include "nfs/elephant-detector/elephant_detector_core.h"
#include "nfs/firewall/firewall_core.h"
#include "nfs/ids/ids_core.h"
#include "nfs/l2-forwarder/l2_forwarder_core.h"
#include "nfs/load-balancer/load_balancer_core.h"
#include "nfs/monitor/monitor_core.h"
#include "nfs/nat/nat_core.h"
#include "nfs/rate-limiter/rate_limiter_core.h"
#include "nfs/sqli-detector/sqli_detector_core.h"
#include "nfs/stateful-firewall/stateful_firewall_core.h"
#include "nfs/static-nat/static_nat_core.h"
#include "nfs/traffic-normalizer/traffic_normalizer_core.h"
#include "nfs/url-filter/url_filter_core.h"

namespace orrery {
namespace {

struct Registration {
  std::string_view kind;
  NfFactory make;
};

constexpr Registration kRegistrations[] = {
    {"busy-loop", busy_loop::make},
    {"crypto-tunnel", crypto_tunnel::make},
    {"ddos-detector", ddos_detector::make},
    {"elephant-detector", elephant_detector::make},
    {"firewall", firewall::make},
    {"ids", ids::make},
    {"l2-forwarder", l2_forwarder::make},
    {"load-balancer", load_balancer::make},
    {"monitor", monitor::make},
    {"nat", nat::make},
    {"rate-limiter", rate_limiter::make},
    {"sqli-detector", sqli_detector::make},
    {"stateful-firewall", stateful_firewall::make},
    {"static-nat", static_nat::make},
    {"traffic-normalizer", traffic_normalizer::make},
    {"url-filter", url_filter::make},
};

constexpr auto kKinds = [] {
  std::array<std::string_view, std::size(kRegistrations)> kinds;
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kRegistrations[i].kind;
  return kinds;
}();

}  // namespace

NfFactory find_nf(std::string_view kind) {
  const auto* it = std::ranges::find(kRegistrations, kind, &Registration::kind);
  return it == std::end(kRegistrations) ? nullptr : it->make;
}

std::span<const std::string_view> nf_kinds() {
  return kKinds;
}

}  // namespace orrery
