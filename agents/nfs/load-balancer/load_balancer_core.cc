// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/load_balancer_core.h"

#include "nfs/flow_state.h"
#include "nfs/load-balancer/load_balancer.h"
#include "nfs/movable_flows.h"

namespace orrery::load_balancer {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"no_backend", "table_full", "no_port",   "not_served",
                                             "no_flow",    "fragment",   "malformed", "unsupported"};

constexpr uint32_t kExpiriesPerBatch = 4;

ClassBits bits_of(std::span<const MetadataField> metadata) {
  return ClassBits(
      metadata, "backend",
      {"backend-1", "backend-2", "backend-3", "backend-4", "backend-5", "backend-6", "backend-7", "backend-8",
       "backend-9", "backend-10", "backend-11", "backend-12", "backend-13", "backend-14", "backend-15"});
}

Ports ports_of(const Config& config) {
  if (config.mode == Mode::kDirect) return {{}, config.port_lo, config.port_hi};
  return {config.external_addresses, config.port_lo, config.port_hi};
}

}  // namespace

struct LoadBalancer::Next final : NextConfig {
  Next(const LoadBalancer& now, Config of, const ClassBits& where)
      : config(std::move(of)),
        bits(where),
        pool(config),
        connections(now.connections_, config.flows, !now.all_stays(config)) {
    if (connections.table) ports = ports_of(config);
  }
  Config config;
  ClassBits bits;
  BackendPool pool;
  Connections::Resize connections;
  std::optional<Ports> ports;  // nothing: those there are stay
};

LoadBalancer::LoadBalancer(Config config, std::span<const MetadataField> metadata)
    : bits_(bits_of(metadata)),
      config_(std::move(config)),
      pool_(config_),
      connections_(config_.flows),
      ports_(ports_of(config_)) {}

void LoadBalancer::process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) {
  expire(now_ns, kExpiriesPerBatch);
  for (size_t begin = 0; begin < packets.size(); begin += kFlowBatch) {
    const size_t count = std::min(packets.size() - begin, kFlowBatch);
    const auto batch = packets.subspan(begin, count);
    const auto out = verdicts.subspan(begin, count);
    if (in == Direction::kForward) {
      forward_batch(batch, out, now_ns);
    } else {
      return_batch(batch, out, now_ns);
    }
  }
}

std::span<const std::string_view> LoadBalancer::drop_reasons() const {
  return kDropReasons;
}

std::unique_ptr<NextConfig> LoadBalancer::prepare(const json& value, std::span<const MetadataField> metadata) const {
  return std::make_unique<Next>(*this, read_config(value), bits_of(metadata));
}

// Whether connections and their external ports stand in the next configuration where they stand in this one.
bool LoadBalancer::all_stays(const Config& next) const {
  const auto ends = [](const Config& config) { return std::views::transform(config.backends, &Backend::at); };
  return next.mode == config_.mode && next.virtual_address == config_.virtual_address &&
         next.external_addresses == config_.external_addresses && next.port_lo == config_.port_lo &&
         next.port_hi == config_.port_hi && next.flows.max_flows == config_.flows.max_flows &&
         next.backends.size() >= config_.backends.size() &&
         std::ranges::equal(ends(config_), ends(next) | std::views::take(config_.backends.size()));
}

void LoadBalancer::take(NextConfig& next) noexcept {
  auto& wanted = static_cast<Next&>(next);
  bits_ = wanted.bits;
  if (wanted.config == config_) return;
  const Positions now_at = pool_.positions_in(wanted.pool);
  wanted.pool.inherit(pool_, now_at, !wanted.ports);
  if (wanted.ports) {
    move_connections(wanted, now_at);
    std::swap(ports_, *wanted.ports);
  } else {
    connections_.take(wanted.connections);
  }
  std::swap(config_, wanted.config);
  std::swap(pool_, wanted.pool);
}

void LoadBalancer::move_connections(Next& next, const Positions& now_at) noexcept {
  const auto& config = next.config;
  Ports& ports = *next.ports;
  const bool same_service = config.mode == config_.mode && config.virtual_address == config_.virtual_address;
  connections_.take(
      next.connections,
      [&](const Connections::Entry& e) {
        const uint8_t backend = now_at[e.value.backend];
        if (!same_service || backend == kNoBackendAt || config.backends[backend].state == AdminState::kDown)
          return false;
        if (config.mode == Mode::kDirect) return true;
        const uint16_t port = e.value.external.port;
        return ports.index_of(external_address(e.value)) && port >= config.port_lo && port <= config.port_hi;
      },
      [&](Connections::Entry& moved) {
        Connection& value = moved.value;
        if (config.mode == Mode::kNat) {
          value.external.address_index = *ports.index_of(external_address(value));
          ports.take_exactly(value.external, *space_of_proto(moved.key.proto), next.connections.table->id_of(moved));
        }
        value.backend = now_at[value.backend];
        next.pool.count_open(value);
      });
}

std::unique_ptr<StateCopy> LoadBalancer::copy_state(size_t limit) const {
  return copy_flow_store(
      connections_, [this] { return figures_of(connections_.figures(), counters_, pool_); },
      [this, limit](const auto& flows, const Figures& figures, RowForm) {
        return view_of(pool_, flows, figures, limit);
      });
}

std::unique_ptr<StateCopy> LoadBalancer::copy_flows() const {
  return export_flows(connections_, kRow,
                      [this](const Connections::Flow& f, uint64_t now_ns) { return row_of_flow(f, now_ns); });
}

MovableTables LoadBalancer::movable_flows() {
  MovableTables tables;
  tables.push_back(movable(
      connections_, kFiveTuple, kRow, "flows", &counters_.imports_refused,
      [](const FlowTuple& key) { return packet_of(key); },
      [this](const Connections::Flow& f, uint64_t now_ns) { return row_of_flow(f, now_ns); },
      [this](const Connections::Entry& entry) { release(entry); }));
  return tables;
}

std::unique_ptr<StateImport> LoadBalancer::prepare_import(const json& state, KnownFlows known) {
  return import_rows(read_arrivals(state), [this, known, place = Connections::Place{}](const Arrival& arrival) mutable {
    counters_.imports_refused += !import_connection(arrival, known, place);
  });
}

// Whether the connection is here now.
bool LoadBalancer::import_connection(const Arrival& arrival, KnownFlows how, Connections::Place& place) {
  const uint8_t backend = pool_.position_of(arrival.backend);
  const auto space = space_of_proto(arrival.key.proto);
  if (backend == kNoBackendAt || pool_.at(backend).state == AdminState::kDown || !space) return false;
  if (arrival.key.destination() != config_.virtual_address) return false;
  const uint32_t hash = connections_.table().hash(arrival.key);
  if (auto* known = connections_.find(arrival.key, hash)) {
    const bool is_same = known->value.backend == backend && external_of(known->value) == arrival.external;
    const bool is_older = known->last_seen_ns < arrival.last_seen_ns;
    if (how == KnownFlows::kMerge || !is_older) return is_same;
    release(*known);
    connections_.table().erase(*known);
  }
  Connection value = arrival.value;
  if (connections_.table().full()) return false;
  if (sees_replies()) {
    const auto index = ports_.index_of(arrival.external.address);
    const uint32_t* owner = index ? ports_.owner(*index, *space, arrival.external.port) : nullptr;
    if (owner == nullptr || *owner != kFreePort) return false;
    value.external = {*index, arrival.external.port};
  }
  pool_.admit(value, arrival.key, backend);
  const auto& entry = *connections_.import({arrival.key, value, arrival.last_seen_ns}, hash, place);
  return !sees_replies() || ports_.take_exactly(value.external, *space, connections_.table().id_of(entry));
}

// Drop reason of a packet whose ends cannot be read, or not be written over: what signs its addresses (RFC 4302 3.3.3)
// would not be accepted, and a checksum over the last address of a routing header is not that over this one.
std::optional<DropReason> LoadBalancer::refuse(const ParsedPacket& p) const {
  if (p.fragment) return kFragment;
  if (p.kind != PacketKind::kIpTransport) return kUnsupported;
  if (sees_replies() && (p.authentication_header || p.segments_left)) return kUnsupported;
  return std::nullopt;
}

// Whether it is decided what becomes of a packet that is not one of IP with these addresses.
bool LoadBalancer::pass_by(const ParsedPacket& p, Direction out, bool ours, NfVerdict& verdict) {
  verdict = pass(out);
  if (p.kind == PacketKind::kMalformed) {
    verdict = drop(kMalformed, out);
  } else if (p.kind == PacketKind::kNonIp) {
    ++counters_.non_ip;
  } else if (!ours) {
    ++counters_.not_virtual;
  } else if (const auto reason = refuse(p)) {
    verdict = drop(*reason, out);
  } else {
    return false;
  }
  return true;
}

// Before an entry is removed.
void LoadBalancer::release(const Connections::Entry& entry) {
  pool_.release(entry.value);
  if (config_.mode == Mode::kNat) ports_.give_back(entry.value.external, *space_of_proto(entry.key.proto));
}

uint32_t LoadBalancer::expire(uint64_t now_ns, uint32_t limit) {
  return connections_.expire(now_ns, limit, [&](Connections::Entry& entry) {
    if (sees_replies() && entry.value.state == ConnectionState::kSynSent)
      pool_.count_silence(entry.value, connections_.table().key_of(entry), entry.last_seen_ns, now_ns);
    release(entry);
  });
}

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<LoadBalancer>(read_config(config), metadata);
}

}  // namespace orrery::load_balancer
