// SPDX-License-Identifier: Apache-2.0
#include "nfs/nat/nat_core.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/movable_flows.h"
#include "nfs/nat/mappings.h"
#include "nfs/nat/nat_config.h"
#include "nfs/nat/nat_view.h"
#include "nfs/nat/peers.h"
#include "nfs/translation/port_map.h"
#include "nfs/translation/translate.h"
#include "support/checksum.h"

namespace orrery::nat {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"no_port",     "no_mapping", "fragment", "malformed",
                                             "unsupported", "filtered",   "no_peer"};
enum DropReason : uint8_t { kNoPort, kNoMapping, kFragment, kMalformed, kUnsupported, kFiltered, kNoPeer };

constexpr uint32_t kExpiriesPerBatch = 4;
constexpr uint32_t kExpiriesWhenFull = 64;

uint32_t ipv4_of(const Ipv6Address& mapped) {
  return static_cast<uint32_t>(mapped.low);
}

Endpoint endpoint(uint32_t address, uint16_t port) {
  return {ipv4_mapped(address), port};
}

class Nat final : public NfCore {
 public:
  explicit Nat(Config config)
      : config_(std::move(config)),
        mappings_(config_.flows),
        peers_(config_.peers),
        ports_(config_.addresses, config_.port_lo, config_.port_hi) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    expire(now_ns, kExpiriesPerBatch);
    peers_.store().expire(now_ns);
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

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField>) const override {
    return std::make_unique<Next>(*this, read_config(value));
  }

  // Mappings stay as they stand where their external ports do. Otherwise they live on where their external port still
  // exists and the table has room; the youngest first.
  void take(NextConfig& next) noexcept override {
    auto& [config, mappings, peers, ports] = static_cast<Next&>(next);
    if (config == config_) return;
    mappings_.take(
        mappings,
        [&](const Mappings::Entry& e) {
          return ports->index_of(e.value.external_address) && e.value.external.port >= config.port_lo &&
                 e.value.external.port <= config.port_hi;
        },
        [&](Mappings::Entry& moved) {
          moved.value.external.address_index = *ports->index_of(moved.value.external_address);
          ports->take_exactly(moved.value.external, PortSpace(moved.key.space), mappings.table->id_of(moved));
        });
    peers_.store().take(peers);
    std::swap(config_, config);
    if (ports) std::swap(ports_, *ports);
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_flow_store(
        mappings_, [this] { return figures(); },
        [this, limit](const auto& mappings, const Figures& figures, RowForm) {
          return view_of(config_, mappings, figures, limit);
        });
  }

  std::unique_ptr<StateCopy> copy_flows() const override {
    auto mappings = export_flows(mappings_, kRow, row_of_mapping);
    if (!config_.port_restricted) return mappings;
    return std::make_unique<JoinedCopy>(std::move(mappings), copy_peers());
  }

  MovableTables movable_flows() override {
    MovableTables tables;
    tables.push_back(movable(
        mappings_, kMappingFields, kRow, "flows", &counters_.imports_refused,
        [](const MappingKey& key) { return inside_packet(key.space, key.address, key.port); }, row_of_mapping,
        [this](const Mappings::Entry& e) { ports_.give_back(e.value.external, PortSpace(e.key.space)); }));
    if (config_.port_restricted)
      tables.push_back(movable(
          peers_.store(), kMappingFields, Peers::kRow, "peers", nullptr,
          [](const PeerKey& key) { return inside_packet(key.space, key.address, key.port); }, row_of_peer,
          [](const Peers::Store::Entry&) {}));
    return tables;
  }

  // A flow whose port, mapping or address is not to be had here is counted and left out; the others are taken.
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows known) override {
    ConfigReader reader(state, "");
    const auto rows = read_rows(reader, "flows", kRow);
    const auto peer_rows = read_rows(reader, "peers", Peers::kRow);
    reader.done();
    const uint64_t now_ns = monotonic_ns();
    std::vector<Mappings::Flow> flows;
    flows.reserve(rows.size());
    for (const auto& r : rows) {
      const MappingKey key{static_cast<uint32_t>(r[1]), static_cast<uint16_t>(r[2]), static_cast<uint16_t>(r[0])};
      const auto external = static_cast<uint32_t>(r[3]);
      flows.push_back({key, {external, {0, static_cast<uint16_t>(r[4])}, 0}, time_at_age(now_ns, r[5])});
    }
    sort_for_import(flows);
    auto mappings =
        import_rows(std::move(flows), [this, known, place = Mappings::Place{}](const Mappings::Flow& flow) mutable {
          counters_.imports_refused += !import_mapping(flow, known, place);
        });
    if (!config_.port_restricted) return mappings;
    return std::make_unique<JoinedImport>(std::move(mappings), import_peers(peer_rows, now_ns));
  }

 private:
  // As many as an export has room for beside the mappings, whose rows are as long.
  std::unique_ptr<StateCopy> copy_peers() const {
    const size_t most = max_rows(Peers::kRow) - std::min<size_t>(config_.flows.max_flows, max_rows(Peers::kRow));
    return copy_flow_store(
        peers_.store(), [] { return 0; },
        [most](const auto& peers, int, RowForm form) {
          const uint64_t now_ns = monotonic_ns();
          std::vector<std::array<uint64_t, 6>> rows;
          for (const auto& peer : first_of(peers, most)) rows.push_back(row_of_peer(peer, now_ns));
          return json{{"peers", write_rows(Peers::kRow, rows, form)}};
        });
  }

  std::unique_ptr<StateImport> import_peers(const std::vector<std::array<uint64_t, 6>>& rows, uint64_t now_ns) {
    std::vector<Peers::Store::Flow> peers;
    peers.reserve(rows.size());
    for (const auto& r : rows)
      peers.push_back({{static_cast<uint32_t>(r[1]), static_cast<uint32_t>(r[3]), static_cast<uint16_t>(r[2]),
                        static_cast<uint16_t>(r[4]), static_cast<uint32_t>(r[0])},
                       {},
                       time_at_age(now_ns, r[5])});
    sort_for_import(peers);
    return import_rows(std::move(peers), [this, place = Peers::Store::Place{}](const auto& peer) mutable {
      const uint32_t hash = peers_.store().table().hash(peer.key);
      if (auto* known = peers_.store().find(peer.key, hash); known == nullptr) {
        peers_.store().import(peer, hash, place);
      } else if (known->last_seen_ns < peer.last_seen_ns) {
        peers_.store().touch(*known, peer.last_seen_ns);
      }
    });
  }

  // The peer at one end of a packet of a mapping.
  static PeerKey peer_of(const MappingKey& mapping, uint32_t address, uint16_t port) {
    const bool icmp = PortSpace(mapping.space) == PortSpace::kIcmp;
    return {mapping.address, address, mapping.port, icmp ? uint16_t{0} : port, mapping.space};
  }

  Figures figures() const {
    Figures out{mappings_.figures(), peers_.store().figures(), counters_, {}};
    for (size_t i = 0; i < config_.addresses.size(); ++i)
      for (size_t s = 0; s < kPortSpaces; ++s) out.free_ports[i][s] = ports_.free_ports(i, PortSpace(s));
    return out;
  }

  // Whether the flow is here now.
  bool import_mapping(const Mappings::Flow& flow, KnownFlows how, Mappings::Place& place) {
    const Mapping& wanted = flow.value;
    const auto space = PortSpace(flow.key.space);
    const uint32_t hash = mappings_.table().hash(flow.key);
    if (auto* known = mappings_.find(flow.key, hash)) {
      const bool is_same = known->value.external_address == wanted.external_address &&
                           known->value.external.port == wanted.external.port;
      if (how == KnownFlows::kMerge || known->last_seen_ns >= flow.last_seen_ns) return is_same;
      ports_.give_back(known->value.external, space);
      mappings_.table().erase(*known);
    }
    const auto address_index = ports_.index_of(wanted.external_address);
    const auto* owner = address_index ? ports_.owner(*address_index, space, wanted.external.port) : nullptr;
    if (owner == nullptr || *owner != kFreePort || mappings_.table().full()) return false;
    auto& entry = *mappings_.import(flow, hash, place);
    entry.value.external.address_index = *address_index;
    return ports_.take_exactly(entry.value.external, space, mappings_.table().id_of(entry));
  }

  static uint8_t icmp_type(const NfPacket& packet) { return packet.data[packet.parsed.l4_offset]; }
  static uint16_t icmp_id(const NfPacket& packet) { return load_be16(packet.data + packet.parsed.l4_offset + 4); }

  // Drop reason of a packet that cannot be translated whatever the tables hold.
  static std::optional<DropReason> refuse(const NfPacket& packet) {
    const ParsedPacket& p = packet.parsed;
    if (p.kind == PacketKind::kMalformed) return kMalformed;
    if (p.kind == PacketKind::kIpOther) return p.fragment ? kFragment : kUnsupported;
    return std::nullopt;
  }

  static NfVerdict drop(DropReason reason, Direction out) { return {.drop = true, .drop_reason = reason, .out = out}; }

  // Port, or identifier of an ICMP query, by which the packet is translated. Nothing: what becomes of it is decided.
  std::optional<uint16_t> port_to_translate(NfPacket& packet, Direction out, NfVerdict& verdict, uint64_t now_ns) {
    const bool forward = out == Direction::kForward;
    const ParsedPacket& p = packet.parsed;
    verdict = {.drop = false, .drop_reason = 0, .out = out};
    if (p.kind == PacketKind::kNonIp || p.has_ipv6()) {
      ++(p.has_ipv6() ? counters_.ipv6 : counters_.non_ip);
      return {};
    }
    if (const auto reason = refuse(packet)) {
      verdict = drop(*reason, out);
      return {};
    }
    if (p.ip_proto != kProtoIcmp) return forward ? p.src_port : p.dst_port;
    const auto type = icmp_type(packet);
    if (is_icmp_error(type)) {
      verdict = translate_error(packet, out, now_ns);
      return {};
    }
    if (!(forward ? is_icmp_query(type) : is_icmp_reply(type))) {
      verdict = drop(kUnsupported, out);
      return {};
    }
    return icmp_id(packet);
  }

  void forward_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    constexpr Direction kOut = Direction::kForward;
    std::array<MappingKey, kFlowBatch> keys;
    std::array<uint32_t, kFlowBatch> hashes;
    std::array<uint8_t, kFlowBatch> todo;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      const ParsedPacket& p = packets[i].parsed;
      const auto port = port_to_translate(packets[i], kOut, verdicts[i], now_ns);
      if (!port) continue;
      keys[count] = {p.ip_src, *port, static_cast<uint16_t>(*space_of_proto(p.ip_proto))};
      todo[count++] = static_cast<uint8_t>(i);
    }
    mappings_.look_up({keys.data(), count}, hashes);
    for (size_t n = 0; n < count; ++n) {
      Mappings::Entry* entry = mappings_.find(keys[n], hashes[n]);
      if (entry == nullptr) entry = create(keys[n], hashes[n], now_ns);
      if (entry == nullptr) {
        verdicts[todo[n]] = drop(kNoPort, kOut);
        continue;
      }
      const ParsedPacket& p = packets[todo[n]].parsed;
      if (config_.port_restricted && !peers_.note(peer_of(keys[n], p.ip_dst, p.dst_port), now_ns)) {
        verdicts[todo[n]] = drop(kNoPeer, kOut);
        continue;
      }
      mappings_.touch(*entry, now_ns);
      ++entry->value.packets;
      ++counters_.translated_forward;
      rewrite_endpoint(packets[todo[n]], Side::kSource,
                       endpoint(entry->value.external_address, entry->value.external.port));
    }
  }

  void return_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    constexpr Direction kOut = Direction::kReturn;
    std::array<const uint32_t*, kFlowBatch> owners;
    std::array<uint8_t, kFlowBatch> todo;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      const ParsedPacket& p = packets[i].parsed;
      const auto port = port_to_translate(packets[i], kOut, verdicts[i], now_ns);
      if (!port) continue;
      const uint32_t* owner = owner_of(p.ip_dst, *space_of_proto(p.ip_proto), *port);
      if (owner == nullptr) {
        verdicts[i] = drop(kNoMapping, kOut);
        continue;
      }
      __builtin_prefetch(owner);
      owners[count] = owner;
      todo[count++] = static_cast<uint8_t>(i);
    }
    for (size_t n = 0; n < count; ++n)
      if (*owners[n] != kFreePort) __builtin_prefetch(&mappings_.table().at(*owners[n]));
    for (size_t n = 0; n < count; ++n) {
      if (*owners[n] == kFreePort) {
        verdicts[todo[n]] = drop(kNoMapping, kOut);
        continue;
      }
      Mappings::Entry& entry = mappings_.table().at(*owners[n]);
      const ParsedPacket& p = packets[todo[n]].parsed;
      if (config_.port_restricted && !peers_.admits(peer_of(entry.key, p.ip_src, p.src_port), now_ns)) {
        verdicts[todo[n]] = drop(kFiltered, kOut);
        continue;
      }
      mappings_.touch(entry, now_ns);
      ++entry.value.packets;
      ++counters_.translated_return;
      rewrite_endpoint(packets[todo[n]], Side::kDestination, endpoint(entry.key.address, entry.key.port));
    }
  }

  const uint32_t* owner_of(uint32_t external_address, PortSpace space, uint16_t port) const {
    const auto address_index = ports_.index_of(external_address);
    return address_index ? ports_.owner(*address_index, space, port) : nullptr;
  }

  // Errors do not keep a mapping alive: they come from anywhere.
  NfVerdict translate_error(NfPacket& packet, Direction direction, uint64_t now_ns) {
    const auto quoted = quoted_packet(packet);
    if (!quoted) return drop(kUnsupported, direction);
    const PortSpace space = *space_of_proto(quoted->proto);
    if (direction == Direction::kReturn) {
      const uint32_t* owner = owner_of(ipv4_of(quoted->source.address), space, quoted->source.port);
      if (owner == nullptr || *owner == kFreePort || packet.parsed.ip_dst != ipv4_of(quoted->source.address))
        return drop(kNoMapping, direction);
      const auto& entry = mappings_.table().at(*owner);
      const Endpoint& remote = quoted->destination;
      if (config_.port_restricted && !peers_.knows(peer_of(entry.key, ipv4_of(remote.address), remote.port), now_ns))
        return drop(kFiltered, direction);
      rewrite_icmp_error(packet, *quoted, Side::kDestination, endpoint(entry.key.address, entry.key.port));
      ++counters_.translated_return;
    } else {
      const MappingKey key{ipv4_of(quoted->destination.address), quoted->destination.port,
                           static_cast<uint16_t>(space)};
      const auto* entry = mappings_.find(key, mappings_.table().hash(key));
      if (entry == nullptr) return drop(kNoMapping, direction);
      rewrite_icmp_error(packet, *quoted, Side::kSource,
                         endpoint(entry->value.external_address, entry->value.external.port));
      ++counters_.translated_forward;
    }
    return {.drop = false, .drop_reason = 0, .out = direction};
  }

  Mappings::Entry* create(const MappingKey& key, uint32_t hash, uint64_t now_ns) {
    if (mappings_.table().full()) expire(now_ns, kExpiriesWhenFull);
    if (mappings_.table().full()) return nullptr;
    const auto space = PortSpace(key.space);
    // The hash of the address alone, so that a host keeps one external address.
    const size_t preferred = mappings_.table().hash({key.address, 0, 0}) % config_.addresses.size();
    auto external = ports_.take(preferred, space);
    if (!external && expire(now_ns, kExpiriesWhenFull) != 0) external = ports_.take(preferred, space);
    if (!external) return nullptr;
    auto& entry = mappings_.insert(key, hash, now_ns);
    entry.value = {config_.addresses[external->address_index], *external, 0};
    ports_.set_owner(*external, space, mappings_.table().id_of(entry));
    return &entry;
  }

  uint32_t expire(uint64_t now_ns, uint32_t limit) {
    return mappings_.expire(
        now_ns, limit, [&](const Mappings::Entry& e) { ports_.give_back(e.value.external, PortSpace(e.key.space)); });
  }

  bool same_ports(const Config& next) const {
    return next.addresses == config_.addresses && next.port_lo == config_.port_lo && next.port_hi == config_.port_hi;
  }

  struct Next final : NextConfig {
    Next(const Nat& now, Config of)
        : config(std::move(of)),
          mappings(now.mappings_, config.flows, !now.same_ports(config)),
          peers(now.peers_.store(), config.peers) {
      if (mappings.table) ports.emplace(config.addresses, config.port_lo, config.port_hi);
    }
    Config config;
    Mappings::Resize mappings;
    Peers::Store::Resize peers;
    std::optional<Ports> ports;  // nothing: those there are stay
  };

  Config config_;
  Mappings mappings_;
  Peers peers_;
  Ports ports_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  return std::make_unique<Nat>(read_config(config));
}

}  // namespace orrery::nat
