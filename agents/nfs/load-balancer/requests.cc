// SPDX-License-Identifier: Apache-2.0
#include "nfs/class_bits.h"
#include "nfs/load-balancer/load_balancer.h"
#include "nfs/load-balancer/packets.h"

namespace orrery::load_balancer {
namespace {

constexpr uint32_t kExpiriesWhenFull = 64;
// A SYN that comes sooner again is a copy: the first retransmission follows after 1 s (RFC 6298 2.1).
constexpr uint64_t kLeastRetransmissionNs = 500'000'000;

}  // namespace

void LoadBalancer::forward_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns) {
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
    const auto reason =
        entry == nullptr ? open(keys[n], hashes[n], segment, now_ns, entry) : follow(*entry, keys[n], segment, now_ns);
    if (reason) {
      verdicts[todo[n]] = drop(*reason, Direction::kForward);
      continue;
    }
    connections_.touch(*entry, now_ns);
    ++pool_.figures_of(entry->value).requests;
    bits_.write(packet.metadata, tag_of(entry->value));
    if (config_.mode == Mode::kNat) rewrite_request(packet, keys[n], entry->value);
  }
}

// The connection of a packet to the virtual address. Nothing: what becomes of it is decided.
std::optional<FlowTuple> LoadBalancer::connection_of(NfPacket& packet, NfVerdict& verdict) {
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

std::optional<DropReason> LoadBalancer::open(const FlowTuple& key, uint32_t hash, Segment segment, uint64_t now_ns,
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
  const auto backend = pool_.choose(key, now_ns);
  if (!backend) {
    if (config_.mode == Mode::kNat) ports_.give_back(connection.external, space);
    return kNoBackend;
  }
  pool_.assign(connection, key, *backend);
  entry = &connections_.insert(key, hash, now_ns, connection);
  if (config_.mode == Mode::kNat) ports_.set_owner(connection.external, space, connections_.table().id_of(*entry));
  return std::nullopt;
}

// By the client's address alone, so that it keeps one external address.
std::optional<ExternalPort> LoadBalancer::take_port(const FlowTuple& key, PortSpace space, uint64_t now_ns) {
  const Ipv6Address client = key.source();
  const size_t preferred = mix(mix(client.high) ^ client.low) % ports_.addresses().size();
  auto external = ports_.take(preferred, space);
  if (!external && expire(now_ns, kExpiriesWhenFull) != 0) external = ports_.take(preferred, space);
  return external;
}

// A packet of a known connection: what it shows of the back end, and whether it goes to another.
std::optional<DropReason> LoadBalancer::follow(Connections::Entry& entry, const FlowTuple& key, Segment segment,
                                               uint64_t now_ns) {
  Connection& connection = entry.value;
  const bool syn = segment == Segment::kSyn;
  if (syn && sees_replies() && connection.state == ConnectionState::kSynSent && now_ns > entry.last_seen_ns &&
      now_ns - entry.last_seen_ns >= kLeastRetransmissionNs)
    pool_.count_silence(connection, key, entry.last_seen_ns, now_ns);
  const bool begins_anew = syn && connection.state == ConnectionState::kClosing;
  if (!pool_.may_stay(connection, key, begins_anew)) {
    if (!move(connection, key, now_ns)) return kNoBackend;
  } else if (begins_anew) {
    pool_.renew(connection, key);
  }
  connection.state = after_request(connection.state, segment, sees_replies());
  return std::nullopt;
}

// To a back end that takes it. Where there is none an open connection stays with one that is not `down`.
bool LoadBalancer::move(Connection& connection, const FlowTuple& key, uint64_t now_ns) {
  const auto backend = pool_.choose(key, now_ns);
  if (!backend) return pool_.of(connection).state != AdminState::kDown && !connection.is_unanswered();
  if (*backend != connection.backend) ++counters_.moved;
  pool_.release(connection);
  pool_.assign(connection, key, *backend);
  return true;
}

bool LoadBalancer::make_room(uint64_t now_ns) {
  if (expire(now_ns, kExpiriesWhenFull) != 0) return true;
  return connections_.evict_transitory([&](const Connections::Entry& entry) { release(entry); });
}

void LoadBalancer::rewrite_request(NfPacket& packet, const FlowTuple& key, const Connection& connection) const {
  rewrite_endpoint(packet, Side::kSource, external_of(connection));
  rewrite_endpoint(packet, Side::kDestination, backend_end(key, connection, is_icmp(packet.parsed)));
}

// A client's error about a reply, which it saw come from the virtual address.
NfVerdict LoadBalancer::forward_error(NfPacket& packet) {
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
  rewrite_icmp_error(packet, *quoted, Side::kSource, external_of(entry->value));
  rewrite_icmp_error(packet, *quoted, Side::kDestination, backend_end(key, entry->value, icmp));
  return pass(kOut);
}

}  // namespace orrery::load_balancer
