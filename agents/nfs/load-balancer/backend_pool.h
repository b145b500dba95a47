// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nfs/load-balancer/balancer_config.h"
#include "nfs/load-balancer/connections.h"
#include "nfs/load-balancer/maglev.h"
#include "nfs/load-balancer/service_health.h"

namespace orrery::load_balancer {

struct BackendFigures {
  uint64_t connections = 0;  // that it was chosen for
  uint64_t requests = 0;     // packets
  uint64_t replies = 0;
  uint64_t failures = 0;  // connections that it did not answer, or refused
  uint32_t open = 0;      // connections in the table
};

// Where the back ends of one configuration stand in the next, by position; kNoBackendAt: nowhere.
using Positions = std::array<uint8_t, kMaxBackends>;

// The back ends, and which of them gets a connection. Connections that have been answered stay where they are whatever
// others show: failures of a service keep new ones away, no more.
class BackendPool {
 public:
  explicit BackendPool(const Config& config);

  size_t size() const { return backends_.size(); }
  const Backend& at(size_t position) const { return backends_[position]; }
  const Backend& of(const Connection& connection) const { return backends_[connection.backend]; }
  uint8_t position_of(const Endpoint& backend) const;
  uint16_t port_at(const Backend& backend, const FlowTuple& key) const {
    return backend.at.port == 0 ? key.dst_port : backend.at.port;
  }

  // The back end for a new connection: the first in the order of its hash whose service is not failed. Where all look
  // failed, the first that is `up`: a service that fails everywhere is no worse than none. Nothing: none is `up`.
  std::optional<uint8_t> choose(const FlowTuple& key, uint64_t now_ns);

  // Whether a known connection stays. `begins_anew`: by a SYN behind its end.
  bool may_stay(const Connection& connection, const FlowTuple& key, bool begins_anew) const;

  // The connection is this back end's from now on. Precondition: it is no other's.
  void assign(Connection& connection, const FlowTuple& key, uint8_t backend);
  void release(const Connection& connection) { --figures_[connection.backend].open; }
  // What the connection shows of its back end is evidence from now on.
  void renew(Connection& connection, const FlowTuple& key) const;
  // The same as assign() for a connection that came from elsewhere with its back end.
  void admit(Connection& connection, const FlowTuple& key, uint8_t backend);
  void count_open(const Connection& connection) { ++figures_[connection.backend].open; }

  // What a connection that is not answered yet shows of its service. Silence is no failure where the service answers
  // others meanwhile: clients can send what nobody answers, such as SYNs with a wrong checksum.
  void count_answer(const Connection& connection, const FlowTuple& key, uint64_t now_ns);
  void count_failure(Connection& connection, const FlowTuple& key, uint64_t now_ns);
  void count_silence(Connection& connection, const FlowTuple& key, uint64_t since_ns, uint64_t now_ns);

  BackendFigures& figures_of(const Connection& connection) { return figures_[connection.backend]; }
  std::span<const BackendFigures, kMaxBackends> figures() const { return figures_; }
  const ServiceHealth& services() const { return services_; }

  // Where these back ends stand in another pool.
  Positions positions_in(const BackendPool& next) const;

  // Takes over what is known of back ends that are still there. `keeps_open`: connections too. Precondition: nothing is
  // known yet.
  void inherit(BackendPool& before, const Positions& now_at, bool keeps_open) noexcept;

 private:
  Service service_of(uint8_t backend, const FlowTuple& key) const;
  uint16_t era_of(const Service& service) const;

  std::vector<Backend> backends_;
  HealthSettings settings_;
  MaglevTable table_;
  std::array<BackendFigures, kMaxBackends> figures_{};
  ServiceHealth services_;
};

}  // namespace orrery::load_balancer
