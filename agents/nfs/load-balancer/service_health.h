// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "nfs/flow_store.h"
#include "nfs/load-balancer/health.h"
#include "nfs/load-balancer/maglev.h"
#include "nfs/translation/port_map.h"

namespace orrery::load_balancer {

// No back end of a configuration.
inline constexpr uint8_t kNoBackendAt = UINT8_MAX;

// What is judged: a port of a back end, or all its ICMP. So whoever asks for ports at which nobody listens takes a back
// end out for these ports alone.
struct Service {
  uint32_t backend;  // its position in the configuration
  uint16_t port;     // at the back end; 0: of ICMP
  uint16_t space;    // PortSpace

  bool operator==(const Service&) const = default;
};

// The health of the services that were asked for last. Those that have never answered make room first, so a client that
// asks for one closed port after the other displaces no service that there is. What has no place counts as well.
class ServiceHealth {
 public:
  static constexpr uint32_t kMostServices = 2048;

  struct Judged {
    Health health;

    bool transitory() const { return !health.has_answered(); }
  };
  using Store = FlowStore<Service, Judged>;

  // Null: nothing is known.
  const Health* find(const Service& service) const {
    const Store::Entry* entry = store_.table().find(service, store_.table().hash(service));
    return entry == nullptr ? nullptr : &entry->value.health;
  }

  // change(health): what has become known of it.
  template <class Change>
  void update(const Service& service, uint64_t now_ns, Change&& change) {
    const uint32_t hash = store_.table().hash(service);
    Store::Entry* entry = store_.find(service, hash);
    if (entry == nullptr) entry = &store_.insert_evicting(service, hash, now_ns);
    change(entry->value.health);
    has_failed_ |= entry->value.health.failed();
    store_.touch(*entry, now_ns);
  }

  // Whether any was ever failed; else nothing has to be looked up to know that one is not.
  bool has_failed() const { return has_failed_; }

  // Whether a new connection may go there (Health::admits).
  bool admits(const Service& service, const HealthSettings& settings, uint64_t now_ns) {
    if (!has_failed_) return true;
    Store::Entry* entry = store_.find(service, store_.table().hash(service));
    return entry == nullptr || entry->value.health.admits(settings, now_ns);
  }

  // Takes over what another one knows of back ends that are still there. Precondition: this one is empty.
  void take_from(const ServiceHealth& other, std::span<const uint8_t> now_at) noexcept {
    has_failed_ = other.has_failed_;
    const Store::Table& from = other.store_.table();
    Store::Table& to = store_.table();
    // From the youngest to the oldest, so that each finds its place at once.
    from.for_each([&](const Store::Entry& entry) {
      Service service = entry.key;
      service.backend = now_at[entry.key.backend];
      if (service.backend == kNoBackendAt) return true;
      to.insert_by_age(service, to.hash(service), entry.last_seen_ns, nullptr, from.lane_of(entry)).value = entry.value;
      return true;
    });
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    store_.table().for_each([&](const Store::Entry& entry) {
      visit(entry.key, entry.value.health);
      return true;
    });
  }

  uint64_t evicted() const { return store_.figures().evicted; }

 private:
  static constexpr uint64_t kOrderNs = 100'000'000;

  bool has_failed_ = false;
  Store store_{FlowLimits{.max_flows = kMostServices, .idle_ns = UINT64_MAX, .granularity_ns = kOrderNs}};
};

}  // namespace orrery::load_balancer
