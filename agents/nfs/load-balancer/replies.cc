// SPDX-License-Identifier: Apache-2.0
#include "nfs/load-balancer/load_balancer.h"
#include "nfs/load-balancer/packets.h"

namespace orrery::load_balancer {

// What comes back to an external port.
struct LoadBalancer::Reply {
  const uint32_t* owner;
  uint16_t port;  // to which it is sent, or identifier
  uint8_t packet;
};

// The connection of a packet to an external address. Nothing: what becomes of it is decided.
std::optional<LoadBalancer::Reply> LoadBalancer::reply_of(NfPacket& packet, NfVerdict& verdict, uint64_t now_ns) {
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

void LoadBalancer::return_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns) {
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

// False: it is of no connection. A back end's other ports and other hosts are not (RFC 4787 5), nor one that is taken
// out.
bool LoadBalancer::restore_reply(NfPacket& packet, uint32_t owner, uint64_t now_ns) {
  if (owner == kFreePort) return false;
  Connections::Entry& entry = connections_.table().at(owner);
  const FlowTuple key = connections_.table().key_of(entry);
  Connection& connection = entry.value;
  const Backend& backend = pool_.of(connection);
  const ParsedPacket& p = packet.parsed;
  const bool icmp = is_icmp(p);
  if (source_of(p) != backend.at.address || backend.state == AdminState::kDown) return false;
  if (!icmp && p.src_port != pool_.port_at(backend, key)) return false;
  const Segment segment = segment_of(packet);
  if (answers(connection.state, segment)) {
    pool_.count_answer(connection, key, now_ns);
  } else if (connection.state == ConnectionState::kSynSent && refuses_syn(packet, segment)) {
    pool_.count_failure(connection, key, now_ns);
  }
  connection.state = after_reply(connection.state, segment);
  connections_.touch(entry, now_ns);
  ++pool_.figures_of(connection).replies;
  rewrite_endpoint(packet, Side::kSource, {key.destination(), icmp ? key.src_port : key.dst_port});
  rewrite_endpoint(packet, Side::kDestination, {key.source(), key.src_port});
  return true;
}

// An error about a request, of the back end or a router on the way. It does not keep the connection alive.
NfVerdict LoadBalancer::return_error(NfPacket& packet, uint64_t now_ns) {
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
  const Backend& backend = pool_.of(entry.value);
  if (quoted->destination.address != backend.at.address || backend.state == AdminState::kDown ||
      (!icmp && quoted->destination.port != pool_.port_at(backend, key)))
    return drop(kNoFlow, kOut);
  if (says_unreachable(packet)) note_unreachable(entry.value, key, now_ns);
  const bool from_backend = source_of(packet.parsed) == backend.at.address;
  const Endpoint service{key.destination(), icmp ? key.src_port : key.dst_port};
  rewrite_quoted(packet, *quoted, Side::kDestination, service);
  rewrite_icmp_error(packet, *quoted, Side::kDestination, {key.source(), key.src_port});
  if (from_backend) rewrite_address(packet, Side::kSource, service.address);
  return pass(kOut);
}

// Whatever is not TCP says nothing else when its back end has gone, so such a connection opens again.
void LoadBalancer::note_unreachable(Connection& connection, const FlowTuple& key, uint64_t now_ns) {
  if (connection.is_unanswered()) {
    pool_.count_failure(connection, key, now_ns);
  } else if (key.proto != kProtoTcp) {
    connection.state = ConnectionState::kOpening;
    pool_.renew(connection, key);
  }
}

}  // namespace orrery::load_balancer
