// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/backend_pool.h"

#include <utility>

namespace orrery::load_balancer {
namespace {

// Positions to which the hash of a connection is hashed on; then the back ends are asked in turn.
constexpr uint64_t kMaxRehashes = 32;

MaglevTable table_of(const Config& config) {
  std::vector<MaglevMember> members;
  members.reserve(config.backends.size());
  for (const Backend& backend : config.backends) members.push_back({identity_of(backend), backend.weight});
  return MaglevTable(members);
}

// The same on every instance.
uint64_t selection_hash(const FlowTuple& key) {
  const Ipv6Address src = key.source(), dst = key.destination();
  const uint64_t ports = uint64_t{key.src_port} << 32 | uint64_t{key.dst_port} << 16 | key.proto;
  return mix(mix(mix(mix(src.high + 0x9e3779b97f4a7c15u) ^ src.low) ^ dst.high) ^ dst.low ^ mix(ports));
}

}  // namespace

BackendPool::BackendPool(const Config& config)
    : backends_(config.backends), settings_(config.health), table_(table_of(config)) {}

uint8_t BackendPool::position_of(const Endpoint& backend) const {
  for (size_t i = 0; i < backends_.size(); ++i)
    if (backends_[i].at == backend) return static_cast<uint8_t>(i);
  return kNoBackendAt;
}

Service BackendPool::service_of(uint8_t backend, const FlowTuple& key) const {
  const PortSpace space = *space_of_proto(key.proto);
  const uint16_t port = space == PortSpace::kIcmp ? uint16_t{0} : port_at(backends_[backend], key);
  return {backend, port, static_cast<uint16_t>(space)};
}

uint16_t BackendPool::era_of(const Service& service) const {
  const Health* health = services_.find(service);
  return health == nullptr ? uint16_t{0} : health->era();
}

std::optional<uint8_t> BackendPool::choose(const FlowTuple& key, uint64_t now_ns) {
  static_assert(kMaxBackends <= 64);
  const uint64_t hash = selection_hash(key);
  uint64_t asked = 0;
  std::optional<uint8_t> first;
  const auto takes = [&](uint8_t backend) {
    const uint64_t bit = uint64_t{1} << backend;
    if ((asked & bit) != 0) return false;
    asked |= bit;
    if (backends_[backend].state != AdminState::kUp) return false;
    if (!first) first = backend;
    return services_.admits(service_of(backend, key), settings_, now_ns);
  };
  for (uint64_t n = 0; n <= kMaxRehashes; ++n) {
    const uint8_t backend = table_.at(n == 0 ? hash : mix(hash + n));
    if (takes(backend)) return backend;
  }
  for (size_t n = 0; n < backends_.size(); ++n) {
    const auto backend = static_cast<uint8_t>((hash + n) % backends_.size());
    if (takes(backend)) return backend;
  }
  return first;
}

// A connection may also stay that is a trial of a failed service.
bool BackendPool::may_stay(const Connection& connection, const FlowTuple& key, bool begins_anew) const {
  const AdminState state = of(connection).state;
  if (state == AdminState::kDown || (state == AdminState::kDrain && begins_anew)) return false;
  if (!services_.has_failed() || (!begins_anew && !connection.is_unanswered())) return true;
  const Health* health = services_.find(service_of(connection.backend, key));
  return health == nullptr || !health->failed() || connection.era == health->era();
}

void BackendPool::assign(Connection& connection, const FlowTuple& key, uint8_t backend) {
  admit(connection, key, backend);
  connection.is_counted_failure = false;
  ++figures_[backend].connections;
}

void BackendPool::renew(Connection& connection, const FlowTuple& key) const {
  connection.is_counted_failure = false;
  connection.era = era_of(service_of(connection.backend, key));
}

void BackendPool::admit(Connection& connection, const FlowTuple& key, uint8_t backend) {
  connection.backend = backend;
  connection.era = era_of(service_of(backend, key));
  ++figures_[backend].open;
}

void BackendPool::count_answer(const Connection& connection, const FlowTuple& key, uint64_t now_ns) {
  services_.update(service_of(connection.backend, key), now_ns, [&](Health& health) {
    if (connection.era == health.era()) health.succeed(settings_, now_ns);
  });
}

void BackendPool::count_failure(Connection& connection, const FlowTuple& key, uint64_t now_ns) {
  const Service service = service_of(connection.backend, key);
  if (connection.is_counted_failure || connection.era != era_of(service)) return;
  connection.is_counted_failure = true;
  ++figures_[connection.backend].failures;
  services_.update(service, now_ns, [&](Health& health) { health.fail(settings_, now_ns); });
}

void BackendPool::count_silence(Connection& connection, const FlowTuple& key, uint64_t since_ns, uint64_t now_ns) {
  const Health* health = services_.find(service_of(connection.backend, key));
  if (health == nullptr || !health->answered_since(since_ns)) count_failure(connection, key, now_ns);
}

Positions BackendPool::positions_in(const BackendPool& next) const {
  Positions now_at;
  now_at.fill(kNoBackendAt);
  for (size_t i = 0; i < backends_.size(); ++i) now_at[i] = next.position_of(backends_[i].at);
  return now_at;
}

void BackendPool::inherit(BackendPool& before, const Positions& now_at, bool keeps_open) noexcept {
  bool all_stay = true;
  for (size_t i = 0; i < before.size(); ++i) {
    all_stay &= now_at[i] == i;
    if (now_at[i] == kNoBackendAt) continue;
    BackendFigures& figures = figures_[now_at[i]];
    figures = before.figures_[i];
    if (!keeps_open) figures.open = 0;
  }
  if (all_stay) {
    std::swap(services_, before.services_);
  } else {
    services_.take_from(before.services_, now_at);
  }
}

}  // namespace orrery::load_balancer
