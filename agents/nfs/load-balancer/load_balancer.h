// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

#include "nfs/class_bits.h"
#include "nfs/load-balancer/backend_pool.h"
#include "nfs/load-balancer/balancer_config.h"
#include "nfs/load-balancer/connection_rows.h"
#include "nfs/load-balancer/connections.h"
#include "nfs/movable_flows.h"
#include "nfs/nf_core.h"
#include "nfs/translation/port_map.h"

namespace orrery::load_balancer {

enum DropReason : uint8_t { kNoBackend, kTableFull, kNoPort, kNotServed, kNoFlow, kFragment, kMalformed, kUnsupported };

using Ports = PortMap<Ipv6Address>;

// See load_balancer_core.h.
class LoadBalancer final : public NfCore {
 public:
  LoadBalancer(Config config, std::span<const MetadataField> metadata);

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override;
  std::span<const std::string_view> drop_reasons() const override;

  std::unique_ptr<NextConfig> prepare(const nlohmann::json& value,
                                      std::span<const MetadataField> metadata) const override;
  // A back end that is still there keeps its health and figures. Where connections and external ports may stay as they
  // stand they do, and the connections of a back end that is `down` go to others with their next packets; otherwise a
  // connection is kept where its back end takes it on and its external port is still one.
  void take(NextConfig& next) noexcept override;

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override;
  std::unique_ptr<StateCopy> copy_flows() const override;
  MovableTables movable_flows() override;
  // A connection whose back end or external port is not to be had here is counted and left out.
  std::unique_ptr<StateImport> prepare_import(const nlohmann::json& state, KnownFlows known) override;

 private:
  struct Next;

  bool sees_replies() const { return config_.mode == Mode::kNat; }

  Ipv6Address external_address(const Connection& connection) const {
    return sees_replies() ? ports_.addresses()[connection.external.address_index] : ipv4_mapped(0);
  }
  Endpoint external_of(const Connection& connection) const {
    return {external_address(connection), connection.external.port};
  }

  static NfVerdict pass(Direction out) { return {.drop = false, .drop_reason = 0, .out = out}; }
  static NfVerdict drop(DropReason reason, Direction out) { return {.drop = true, .drop_reason = reason, .out = out}; }

  static uint8_t tag_of(const Connection& connection) {
    return connection.backend < kMaxTagged ? static_cast<uint8_t>(connection.backend + 1) : 0;
  }

  // Where a connection ends at its back end; an ICMP query has one identifier for both ends.
  Endpoint backend_end(const FlowTuple& key, const Connection& connection, bool icmp) const {
    const Backend& backend = pool_.of(connection);
    return {backend.at.address, icmp ? connection.external.port : pool_.port_at(backend, key)};
  }

  std::array<uint64_t, kRow.size()> row_of_flow(const Connections::Flow& f, uint64_t now_ns) const {
    return row_of_connection(f, pool_.of(f.value).at, external_of(f.value), now_ns);
  }

  // Configuration and state.
  bool all_stays(const Config& next) const;
  void move_connections(Next& next, const Positions& now_at) noexcept;
  bool import_connection(const Arrival& arrival, KnownFlows how, Connections::Place& place);

  // Either direction.
  std::optional<DropReason> refuse(const ParsedPacket& p) const;
  bool pass_by(const ParsedPacket& p, Direction out, bool ours, NfVerdict& verdict);
  void release(const Connections::Entry& entry);
  uint32_t expire(uint64_t now_ns, uint32_t limit);

  // Requests.
  void forward_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns);
  std::optional<FlowTuple> connection_of(NfPacket& packet, NfVerdict& verdict);
  std::optional<DropReason> open(const FlowTuple& key, uint32_t hash, Segment segment, uint64_t now_ns,
                                 Connections::Entry*& entry);
  std::optional<ExternalPort> take_port(const FlowTuple& key, PortSpace space, uint64_t now_ns);
  std::optional<DropReason> follow(Connections::Entry& entry, const FlowTuple& key, Segment segment, uint64_t now_ns);
  bool move(Connection& connection, const FlowTuple& key, uint64_t now_ns);
  bool make_room(uint64_t now_ns);
  void rewrite_request(NfPacket& packet, const FlowTuple& key, const Connection& connection) const;
  NfVerdict forward_error(NfPacket& packet);

  // Replies.
  struct Reply;
  void return_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns);
  std::optional<Reply> reply_of(NfPacket& packet, NfVerdict& verdict, uint64_t now_ns);
  bool restore_reply(NfPacket& packet, uint32_t owner, uint64_t now_ns);
  NfVerdict return_error(NfPacket& packet, uint64_t now_ns);
  void note_unreachable(Connection& connection, const FlowTuple& key, uint64_t now_ns);

  ClassBits bits_;
  Config config_;
  BackendPool pool_;
  Connections connections_;
  Ports ports_;
  Counters counters_;
};

}  // namespace orrery::load_balancer
