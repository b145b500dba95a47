// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/load_balancer_core.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nfs/class_bits.h"
#include "nfs/flow_state.h"
#include "nfs/load-balancer/balancer_config.h"
#include "nfs/load-balancer/connections.h"
#include "nfs/movable_flows.h"
#include "support/checksum.h"

namespace orrery::load_balancer {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"no_backend", "table_full", "no_port",   "not_served",
                                             "no_flow",    "fragment",   "malformed", "unsupported"};
enum DropReason : uint8_t { kNoBackend, kTableFull, kNoPort, kNotServed, kNoFlow, kFragment, kMalformed, kUnsupported };

constexpr uint32_t kExpiriesPerBatch = 4;
constexpr uint32_t kExpiriesWhenFull = 64;
// Positions to which the hash of a connection is hashed on; then the back ends are asked in turn.
constexpr uint64_t kMaxRehashes = 32;
// A SYN that comes sooner again is a copy: the first retransmission follows after 1 s (RFC 6298 2.1).
constexpr uint64_t kLeastRetransmissionNs = 500'000'000;

// Of flow state; youngest first.
constexpr auto kRow = flow_layout(kAddressWord, kAddressWord, UINT16_MAX, kAddressWord, kAddressWord, UINT16_MAX,
                                  kConnectionStates - 1, kMaxAgeMs);

using Ports = PortMap<Ipv6Address>;

struct BackendFigures {
  uint64_t connections = 0;  // that it was chosen for
  uint64_t requests = 0;     // packets
  uint64_t replies = 0;
  uint64_t failures = 0;  // connections that it did not answer, or refused
  uint32_t open = 0;      // connections in the table
};

// Of one back end, whatever its position.
struct BackendStatus {
  Health health;
  BackendFigures figures;
};

struct Counters {
  uint64_t imports_refused = 0;
  uint64_t moved = 0;  // connections to another back end
  uint64_t not_virtual = 0;
  uint64_t non_ip = 0;
};

struct Figures {
  FlowFigures flows;
  Counters counters;
  std::array<BackendStatus, kMaxBackends> backends;
};

Ipv6Address source_of(const ParsedPacket& p) {
  return p.ip_version == 6 ? p.ipv6_src : ipv4_mapped(p.ip_src);
}
Ipv6Address destination_of(const ParsedPacket& p) {
  return p.ip_version == 6 ? p.ipv6_dst : ipv4_mapped(p.ip_dst);
}

uint8_t icmp_type(const NfPacket& packet) {
  return packet.data[packet.parsed.l4_offset];
}
uint16_t icmp_id(const NfPacket& packet) {
  return load_be16(packet.data + packet.parsed.l4_offset + 4);
}
// An error that says that nobody is there, or nobody who listens (RFC 792, RFC 4443 3.1); not one about a length.
bool says_unreachable(const NfPacket& packet) {
  const uint8_t* icmp = packet.data + packet.parsed.l4_offset;
  return packet.parsed.ip_version == 6 ? icmp[0] == 1 : icmp[0] == 3 && icmp[1] != 4;
}

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

class LoadBalancer final : public NfCore {
 public:
  LoadBalancer(Config config, std::span<const MetadataField> metadata)
      : bits_(bits_of(metadata)),
        config_(std::move(config)),
        table_(table_of(config_)),
        connections_(config_.flows),
        ports_(ports_of(config_)) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
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

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField> metadata) const override {
    return std::make_unique<Next>(connections_, read_config(value), bits_of(metadata));
  }

  // A back end that is still there keeps its health and figures; a connection stays where its back end takes it on,
  // and its external port is still one.
  void take(NextConfig& next) noexcept override {
    auto& [config, bits, table, connections, ports, backends] = static_cast<Next&>(next);
    bits_ = bits;
    if (config == config_) return;
    std::array<uint8_t, kMaxBackends> now_at{};
    for (size_t i = 0; i < config_.backends.size(); ++i) {
      now_at[i] = position_of(config, config_.backends[i].at);
      if (now_at[i] == kNoBackendAt) continue;
      backends[now_at[i]] = backends_[i];
      backends[now_at[i]].figures.open = 0;
    }
    const bool same_service = config.mode == config_.mode && config.virtual_address == config_.virtual_address;
    connections_.take(
        connections,
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
            ports.take_exactly(value.external, *space_of_proto(moved.key.proto), connections.table->id_of(moved));
          }
          value.backend = now_at[value.backend];
          ++backends[value.backend].figures.open;
        });
    std::swap(config_, config);
    std::swap(table_, table);
    std::swap(ports_, ports);
    backends_ = backends;
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_flow_store(
        connections_,
        [this] {
          return Figures{connections_.figures(), counters_, backends_};
        },
        [this, limit](const auto& flows, const Figures& figures, RowForm) { return view(flows, figures, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override {
    return export_flows(connections_, kRow,
                        [this](const Connections::Flow& f, uint64_t now_ns) { return row_of_flow(f, now_ns); });
  }

  MovableTables movable_flows() override {
    MovableTables tables;
    tables.push_back(movable(
        connections_, kFiveTuple, kRow, "flows", &counters_.imports_refused,
        [](const FlowTuple& key) { return packet_of(key); },
        [this](const Connections::Flow& f, uint64_t now_ns) { return row_of_flow(f, now_ns); },
        [this](const Connections::Entry& entry) { release(entry); }));
    return tables;
  }

  // A connection whose back end or external port is not to be had here is counted and left out.
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    ConfigReader reader(state, "");
    const auto rows = read_rows(reader, "flows", kRow);
    reader.done();
    const uint64_t now_ns = monotonic_ns();
    std::vector<Arrival> arrivals;
    arrivals.reserve(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto& row = rows[i];
      const auto n = numbers_behind_flow(row);
      Arrival arrival{.key = {}, .value = {}, .last_seen_ns = time_at_age(now_ns, n[7]), .backend = {}, .external = {}};
      try {
        arrival.key = flow_of_row(row);
      } catch (const ConfigError& error) {
        throw ConfigError(reader.pointer_to("flows", i) + error.pointer, error.what());
      }
      arrival.backend = {{n[0], n[1]}, static_cast<uint16_t>(n[2])};
      arrival.external = {{n[3], n[4]}, static_cast<uint16_t>(n[5])};
      arrival.value.state = static_cast<ConnectionState>(n[6]);
      arrivals.push_back(arrival);
    }
    sort_for_import(arrivals);
    return import_rows(std::move(arrivals),
                       [this, known, place = Connections::Place{}](const Arrival& arrival) mutable {
                         counters_.imports_refused += !import_connection(arrival, known, place);
                       });
  }

 private:
  static constexpr uint8_t kNoBackendAt = UINT8_MAX;

  std::array<uint64_t, kRow.size()> row_of_flow(const Connections::Flow& f, uint64_t now_ns) const {
    const Endpoint& backend = config_.backends[f.value.backend].at;
    const Ipv6Address external = external_address(f.value);
    return row_of(f.key, backend.address.high, backend.address.low, backend.port, external.high, external.low,
                  f.value.external.port, static_cast<uint64_t>(f.value.state), age_ms(now_ns, f.last_seen_ns));
  }

  // A connection from another instance.
  struct Arrival {
    FlowTuple key;
    Connection value;
    uint64_t last_seen_ns;
    Endpoint backend;
    Endpoint external;
  };

  static ClassBits bits_of(std::span<const MetadataField> metadata) {
    return ClassBits(
        metadata, "backend",
        {"backend-1", "backend-2", "backend-3", "backend-4", "backend-5", "backend-6", "backend-7", "backend-8",
         "backend-9", "backend-10", "backend-11", "backend-12", "backend-13", "backend-14", "backend-15"});
  }

  static Ports ports_of(const Config& config) {
    if (config.mode == Mode::kDirect) return {{}, config.port_lo, config.port_hi};
    return {config.external_addresses, config.port_lo, config.port_hi};
  }

  static uint8_t position_of(const Config& config, const Endpoint& backend) {
    for (size_t i = 0; i < config.backends.size(); ++i)
      if (config.backends[i].at == backend) return static_cast<uint8_t>(i);
    return kNoBackendAt;
  }

  bool sees_replies() const { return config_.mode == Mode::kNat; }

  Ipv6Address external_address(const Connection& connection) const {
    return sees_replies() ? ports_.addresses()[connection.external.address_index] : ipv4_mapped(0);
  }

  json view(const std::vector<Connections::Flow>& flows, const Figures& figures, size_t limit) const {
    const auto& [of, counters, status] = figures;
    static constexpr const char* kAdminStates[] = {"up", "drain", "down"};
    json backends = json::array();
    for (size_t i = 0; i < std::min(limit, config_.backends.size()); ++i) {
      const Backend& backend = config_.backends[i];
      const BackendFigures& f = status[i].figures;
      const bool failed = backend.state == AdminState::kUp && status[i].health.failed();
      backends.push_back({{"address", address_text(backend.at.address)},
                          {"port", backend.at.port},
                          {"weight", backend.weight},
                          {"state", failed ? "failed" : kAdminStates[static_cast<size_t>(backend.state)]},
                          {"open", f.open},
                          {"connections", f.connections},
                          {"requests", f.requests},
                          {"replies", f.replies},
                          {"failures", f.failures}});
    }
    json rows = json::array();
    for (const auto& f : first_of(flows, limit)) {
      json& row = rows.emplace_back(flow_json(f.key));
      row["backend"] = address_text(config_.backends[f.value.backend].at.address);
      row["state"] = kConnectionStateNames[static_cast<size_t>(f.value.state)];
      row["last_seen_ms"] = wall_ms_at(f.last_seen_ns);
    }
    return {{"flow_count", of.size},
            {"max_flows", of.capacity},
            {"flows_created", of.created},
            {"flows_expired", of.expired},
            {"flows_evicted", of.evicted},
            {"flows_lost_by_reconfiguration", of.lost_by_resize},
            {"flows_moved", counters.moved},
            {"imports_refused", counters.imports_refused},
            {"not_to_virtual_address", counters.not_virtual},
            {"non_ip", counters.non_ip},
            {"backends", std::move(backends)},
            {"flows", std::move(rows)}};
  }

  static NfVerdict pass(Direction out) { return {.drop = false, .drop_reason = 0, .out = out}; }
  static NfVerdict drop(DropReason reason, Direction out) { return {.drop = true, .drop_reason = reason, .out = out}; }

  // Drop reason of a packet whose ends cannot be read.
  static std::optional<DropReason> refuse(const ParsedPacket& p) {
    if (p.fragment) return kFragment;
    if (p.kind != PacketKind::kIpTransport) return kUnsupported;
    return std::nullopt;
  }

  // Whether it is decided what becomes of a packet that is not one of IP with these addresses.
  bool pass_by(const ParsedPacket& p, Direction out, bool ours, NfVerdict& verdict) {
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

  // The connection of a packet to the virtual address. Nothing: what becomes of it is decided.
  std::optional<FlowTuple> connection_of(NfPacket& packet, NfVerdict& verdict) {
    constexpr Direction kOut = Direction::kForward;
    const ParsedPacket& p = packet.parsed;
    if (pass_by(p, kOut, destination_of(p) == config_.virtual_address, verdict)) return {};
    FlowTuple key = FlowTuple::of(p);
    if (!is_icmp(p)) {
      if (config_.serves(p.dst_port)) return key;
      verdict = drop(kNotServed, kOut);
      return {};
    }
    const uint8_t type = icmp_type(packet);
    if (is_icmp_query(type, p.ip_version)) {
      key.src_port = icmp_id(packet);
      return key;
    }
    verdict = is_icmp_error(type, p.ip_version) ? forward_error(packet) : drop(kUnsupported, kOut);
    return {};
  }

  void forward_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    std::array<FlowTuple, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes;
    std::array<uint8_t, kFlowBatch> todo;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      bits_.write(packets[i].metadata, 0);
      const auto key = connection_of(packets[i], verdicts[i]);
      if (!key) continue;
      keys[count] = *key;
      todo[count++] = static_cast<uint8_t>(i);
    }
    connections_.look_up({keys.data(), count}, hashes);
    for (size_t n = 0; n < count; ++n) {
      NfPacket& packet = packets[todo[n]];
      const Segment segment = segment_of(packet);
      Connections::Entry* entry = connections_.find(keys[n], hashes[n]);
      const auto reason = entry == nullptr ? open(keys[n], hashes[n], segment, now_ns, entry)
                                           : follow(*entry, keys[n], segment, now_ns);
      if (reason) {
        verdicts[todo[n]] = drop(*reason, Direction::kForward);
        continue;
      }
      connections_.touch(*entry, now_ns);
      ++backends_[entry->value.backend].figures.requests;
      bits_.write(packet.metadata, tag_of(entry->value));
      if (config_.mode == Mode::kNat) rewrite_request(packet, keys[n], entry->value);
    }
  }

  static uint8_t tag_of(const Connection& connection) {
    return connection.backend < kMaxTagged ? static_cast<uint8_t>(connection.backend + 1) : 0;
  }

  void rewrite_request(NfPacket& packet, const FlowTuple& key, const Connection& connection) const {
    const bool icmp = is_icmp(packet.parsed);
    const Endpoint external{external_address(connection), connection.external.port};
    rewrite_endpoint(packet, Side::kSource, external);
    rewrite_endpoint(packet, Side::kDestination,
                     {backend_of(connection).address, icmp ? external.port : port_at_backend(key, connection)});
  }

  const Endpoint& backend_of(const Connection& connection) const { return config_.backends[connection.backend].at; }
  uint16_t port_at_backend(const FlowTuple& key, const Connection& connection) const {
    const uint16_t port = backend_of(connection).port;
    return port == 0 ? key.dst_port : port;
  }

  // The back end for a new connection.
  std::optional<uint8_t> choose(const FlowTuple& key, uint64_t now_ns) {
    const uint64_t hash = selection_hash(key);
    for (uint64_t n = 0; n <= kMaxRehashes; ++n) {
      const uint8_t backend = table_.at(n == 0 ? hash : mix(hash + n));
      if (takes_new(backend, now_ns)) return backend;
    }
    for (size_t n = 0; n < config_.backends.size(); ++n) {
      const auto backend = static_cast<uint8_t>((hash + n) % config_.backends.size());
      if (takes_new(backend, now_ns)) return backend;
    }
    return std::nullopt;
  }

  bool takes_new(uint8_t backend, uint64_t now_ns) {
    return config_.backends[backend].state == AdminState::kUp &&
           backends_[backend].health.admits(config_.health, now_ns);
  }

  // Whether a connection may stay: also one that is a trial of a failed back end.
  bool may_stay(const Connection& connection) const {
    const Health& health = backends_[connection.backend].health;
    return config_.backends[connection.backend].state != AdminState::kDown &&
           (!health.failed() || connection.era == health.era());
  }

  void assign(Connection& connection, uint8_t backend) {
    connection.backend = backend;
    connection.era = backends_[backend].health.era();
    connection.is_counted_failure = false;
    ++backends_[backend].figures.connections;
    ++backends_[backend].figures.open;
  }

  std::optional<DropReason> open(const FlowTuple& key, uint32_t hash, Segment segment, uint64_t now_ns,
                                 Connections::Entry*& entry) {
    if (connections_.table().full() && !make_room(now_ns)) return kTableFull;
    Connection connection{};
    connection.state = segment == Segment::kSyn ? ConnectionState::kSynSent : ConnectionState::kOpening;
    const PortSpace space = *space_of_proto(key.proto);
    if (config_.mode == Mode::kNat) {
      const auto external = take_port(key, space, now_ns);
      if (!external) return kNoPort;
      connection.external = *external;
    }
    const auto backend = choose(key, now_ns);
    if (!backend) {
      if (config_.mode == Mode::kNat) ports_.give_back(connection.external, space);
      return kNoBackend;
    }
    assign(connection, *backend);
    entry = &connections_.insert(key, hash, now_ns, connection);
    if (config_.mode == Mode::kNat) ports_.set_owner(connection.external, space, connections_.table().id_of(*entry));
    return std::nullopt;
  }

  // By the client's address alone, so that it keeps one external address.
  std::optional<ExternalPort> take_port(const FlowTuple& key, PortSpace space, uint64_t now_ns) {
    const Ipv6Address client = key.source();
    const size_t preferred = mix(mix(client.high) ^ client.low) % ports_.addresses().size();
    auto external = ports_.take(preferred, space);
    if (!external && expire(now_ns, kExpiriesWhenFull) != 0) external = ports_.take(preferred, space);
    return external;
  }

  // A packet of a known connection: what it shows of the back end, and whether it goes to another.
  std::optional<DropReason> follow(Connections::Entry& entry, const FlowTuple& key, Segment segment, uint64_t now_ns) {
    Connection& connection = entry.value;
    const bool syn = segment == Segment::kSyn;
    if (syn && connection.state == ConnectionState::kSynSent && now_ns > entry.last_seen_ns &&
        now_ns - entry.last_seen_ns >= kLeastRetransmissionNs)
      count_silence(entry, now_ns);
    const bool begins_anew = syn && connection.state == ConnectionState::kClosing;
    if (begins_anew) connection.is_counted_failure = false;
    const bool drained = config_.backends[connection.backend].state == AdminState::kDrain;
    if (!may_stay(connection) || (begins_anew && drained))
      if (!move(connection, key, now_ns)) return kNoBackend;
    connection.state = after_request(connection.state, segment, sees_replies());
    return std::nullopt;
  }

  // To a back end that takes it. Where there is none an open connection stays with one that is not `down`.
  bool move(Connection& connection, const FlowTuple& key, uint64_t now_ns) {
    const auto backend = choose(key, now_ns);
    if (!backend) return config_.backends[connection.backend].state != AdminState::kDown && !connection.is_unanswered();
    if (*backend != connection.backend) ++counters_.moved;
    --backends_[connection.backend].figures.open;
    assign(connection, *backend);
    return true;
  }

  void count_failure(Connection& connection, uint64_t now_ns) {
    auto& [health, figures] = backends_[connection.backend];
    if (connection.era != health.era() || connection.is_counted_failure) return;
    connection.is_counted_failure = true;
    ++figures.failures;
    health.fail(config_.health, now_ns);
  }

  // Of a back end that has not answered. No failure where it answers others meanwhile: clients can send what nobody
  // answers, such as SYNs with a wrong checksum.
  void count_silence(Connections::Entry& entry, uint64_t now_ns) {
    if (!backends_[entry.value.backend].health.answered_since(entry.last_seen_ns)) count_failure(entry.value, now_ns);
  }

  // What comes back to an external port.
  struct Reply {
    const uint32_t* owner;
    uint16_t port;  // to which it is sent, or identifier
    uint8_t packet;
  };

  // The connection of a packet to an external address. Nothing: what becomes of it is decided.
  std::optional<Reply> reply_of(NfPacket& packet, NfVerdict& verdict, uint64_t now_ns) {
    constexpr Direction kOut = Direction::kReturn;
    const ParsedPacket& p = packet.parsed;
    if (!sees_replies()) {
      pass_by(p, kOut, false, verdict);
      return {};
    }
    const auto index = ports_.index_of(destination_of(p));
    if (pass_by(p, kOut, index.has_value(), verdict)) return {};
    uint16_t port = p.dst_port;
    if (is_icmp(p)) {
      const uint8_t type = icmp_type(packet);
      if (!is_icmp_reply(type, p.ip_version)) {
        verdict = is_icmp_error(type, p.ip_version) ? return_error(packet, now_ns) : drop(kUnsupported, kOut);
        return {};
      }
      port = icmp_id(packet);
    }
    const uint32_t* owner = ports_.owner(*index, *space_of_proto(p.ip_proto), port);
    if (owner != nullptr) return Reply{owner, port, 0};
    verdict = drop(kNoFlow, kOut);
    return {};
  }

  void return_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    std::array<Reply, kFlowBatch> replies;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      const auto reply = reply_of(packets[i], verdicts[i], now_ns);
      if (!reply) continue;
      replies[count] = *reply;
      replies[count].packet = static_cast<uint8_t>(i);
      __builtin_prefetch(replies[count++].owner);
    }
    for (size_t n = 0; n < count; ++n)
      if (*replies[n].owner != kFreePort) __builtin_prefetch(&connections_.table().at(*replies[n].owner));
    for (size_t n = 0; n < count; ++n)
      if (!restore_reply(packets[replies[n].packet], *replies[n].owner, now_ns))
        verdicts[replies[n].packet] = drop(kNoFlow, Direction::kReturn);
  }

  // False: it is of no connection. A back end's other ports and other hosts are not (RFC 4787 5).
  bool restore_reply(NfPacket& packet, uint32_t owner, uint64_t now_ns) {
    if (owner == kFreePort) return false;
    Connections::Entry& entry = connections_.table().at(owner);
    const FlowTuple key = connections_.table().key_of(entry);
    Connection& connection = entry.value;
    const ParsedPacket& p = packet.parsed;
    const bool icmp = is_icmp(p);
    if (source_of(p) != backend_of(connection).address) return false;
    if (!icmp && p.src_port != port_at_backend(key, connection)) return false;
    auto& [health, figures] = backends_[connection.backend];
    const Segment segment = segment_of(packet);
    if (connection.state == ConnectionState::kSynSent) {
      if (segment == Segment::kReset) count_failure(connection, now_ns);
      if (segment == Segment::kSynAck && connection.era == health.era()) health.succeed(config_.health, now_ns);
    }
    connection.state = after_reply(connection.state, segment);
    connections_.touch(entry, now_ns);
    ++figures.replies;
    rewrite_endpoint(packet, Side::kSource, {key.destination(), icmp ? key.src_port : key.dst_port});
    rewrite_endpoint(packet, Side::kDestination, {key.source(), key.src_port});
    return true;
  }

  // A client's error about a reply, which it saw come from the virtual address.
  NfVerdict forward_error(NfPacket& packet) {
    constexpr Direction kOut = Direction::kForward;
    const auto quoted = quoted_packet(packet);
    if (!quoted) return drop(kUnsupported, kOut);
    const bool icmp = quoted->proto != kProtoTcp && quoted->proto != kProtoUdp;
    FlowTuple key;
    key.proto = quoted->proto;
    key.src_port = quoted->destination.port;
    key.dst_port = icmp ? 0 : quoted->source.port;
    key.set_ends(quoted->destination.address, quoted->source.address);
    const auto* entry = connections_.find(key, connections_.table().hash(key));
    if (entry == nullptr) return drop(kNoFlow, kOut);
    bits_.write(packet.metadata, tag_of(entry->value));
    if (!sees_replies()) return pass(kOut);
    const Endpoint external{external_address(entry->value), entry->value.external.port};
    const Endpoint backend{backend_of(entry->value).address, icmp ? external.port : port_at_backend(key, entry->value)};
    rewrite_icmp_error(packet, *quoted, Side::kSource, external);
    rewrite_icmp_error(packet, *quoted, Side::kDestination, backend);
    return pass(kOut);
  }

  // An error about a request, of the back end or a router on the way. It does not keep the connection alive.
  NfVerdict return_error(NfPacket& packet, uint64_t now_ns) {
    constexpr Direction kOut = Direction::kReturn;
    const auto quoted = quoted_packet(packet);
    if (!quoted) return drop(kUnsupported, kOut);
    const auto index = ports_.index_of(quoted->source.address);
    const uint32_t* owner = index ? ports_.owner(*index, *space_of_proto(quoted->proto), quoted->source.port) : nullptr;
    if (owner == nullptr || *owner == kFreePort || destination_of(packet.parsed) != quoted->source.address)
      return drop(kNoFlow, kOut);
    Connections::Entry& entry = connections_.table().at(*owner);
    const FlowTuple key = connections_.table().key_of(entry);
    const bool icmp = quoted->proto != kProtoTcp && quoted->proto != kProtoUdp;
    const Ipv6Address backend = backend_of(entry.value).address;
    if (quoted->destination.address != backend ||
        (!icmp && quoted->destination.port != port_at_backend(key, entry.value)))
      return drop(kNoFlow, kOut);
    if (entry.value.is_unanswered() && says_unreachable(packet)) count_failure(entry.value, now_ns);
    const bool from_backend = source_of(packet.parsed) == backend;
    const Endpoint service{key.destination(), icmp ? key.src_port : key.dst_port};
    rewrite_quoted(packet, *quoted, Side::kDestination, service);
    rewrite_icmp_error(packet, *quoted, Side::kDestination, {key.source(), key.src_port});
    if (from_backend) rewrite_address(packet, Side::kSource, service.address);
    return pass(kOut);
  }

  // Before an entry is removed.
  void release(const Connections::Entry& entry) {
    --backends_[entry.value.backend].figures.open;
    if (config_.mode == Mode::kNat) ports_.give_back(entry.value.external, *space_of_proto(entry.key.proto));
  }

  uint32_t expire(uint64_t now_ns, uint32_t limit) {
    return connections_.expire(now_ns, limit, [&](Connections::Entry& entry) {
      if (entry.value.state == ConnectionState::kSynSent) count_silence(entry, now_ns);
      release(entry);
    });
  }

  bool make_room(uint64_t now_ns) {
    if (expire(now_ns, kExpiriesWhenFull) != 0) return true;
    return connections_.evict_transitory([&](const Connections::Entry& entry) { release(entry); });
  }

  // Whether the connection is here now.
  bool import_connection(const Arrival& arrival, KnownFlows how, Connections::Place& place) {
    const uint8_t backend = position_of(config_, arrival.backend);
    const auto space = space_of_proto(arrival.key.proto);
    if (backend == kNoBackendAt || config_.backends[backend].state == AdminState::kDown || !space) return false;
    if (arrival.key.destination() != config_.virtual_address) return false;
    const uint32_t hash = connections_.table().hash(arrival.key);
    if (auto* known = connections_.find(arrival.key, hash)) {
      const bool is_same = known->value.backend == backend &&
                           external_address(known->value) == arrival.external.address &&
                           known->value.external.port == arrival.external.port;
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
    value.backend = backend;
    value.era = backends_[backend].health.era();
    const auto& entry = *connections_.import({arrival.key, value, arrival.last_seen_ns}, hash, place);
    ++backends_[backend].figures.open;
    return !sees_replies() || ports_.take_exactly(value.external, *space, connections_.table().id_of(entry));
  }

  struct Next final : NextConfig {
    Next(const Connections& from, Config of, const ClassBits& where)
        : config(std::move(of)),
          bits(where),
          table(table_of(config)),
          connections(from, config.flows, true),
          ports(ports_of(config)) {}
    Config config;
    ClassBits bits;
    MaglevTable table;
    Connections::Resize connections;
    Ports ports;
    std::array<BackendStatus, kMaxBackends> backends{};
  };

  ClassBits bits_;
  Config config_;
  MaglevTable table_;
  Connections connections_;
  Ports ports_;
  std::array<BackendStatus, kMaxBackends> backends_{};
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<LoadBalancer>(read_config(config), metadata);
}

}  // namespace orrery::load_balancer
