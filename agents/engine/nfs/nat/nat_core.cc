// SPDX-License-Identifier: Apache-2.0
#include "nfs/nat/nat_core.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nfs/config_reader.h"
#include "nfs/flow_rows.h"
#include "nfs/nat/port_map.h"
#include "nfs/nat/translate.h"
#include "support/checksum.h"
#include "support/clock.h"
#include "support/flow_table.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"no_port", "no_mapping", "fragment", "malformed", "unsupported"};
enum DropReason : uint8_t { kNoPort, kNoMapping, kFragment, kMalformed, kUnsupported };

constexpr size_t kBatch = 32;
constexpr size_t kMaxAddresses = 16;
constexpr uint32_t kMaxFlows = 1u << 20;
constexpr uint32_t kExpiriesPerBatch = 4;
constexpr uint32_t kExpiriesWhenFull = 64;

struct MappingKey {
  uint32_t address;
  uint16_t port;
  uint16_t space;

  bool operator==(const MappingKey&) const = default;
};

struct Mapping {
  uint32_t external_address;
  ExternalPort external;
  uint64_t packets;
};

using MappingTable = FlowTable<MappingKey, Mapping>;

struct Config {
  std::vector<uint32_t> addresses;
  uint16_t port_lo;
  uint16_t port_hi;
  uint64_t idle_ns;
  uint32_t max_flows;

  bool operator==(const Config&) const = default;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  const auto& addresses = reader.array("external_addresses", kMaxAddresses);
  if (addresses.empty()) throw ConfigError(reader.at("external_addresses"), "must name at least one address");
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto address =
        addresses[i].is_string() ? parse_address(addresses[i].get_ref<const std::string&>()) : std::nullopt;
    if (!address) throw ConfigError(reader.at("external_addresses", i), "must be an IPv4 address");
    if (std::ranges::find(config.addresses, *address) != config.addresses.end())
      throw ConfigError(reader.at("external_addresses", i), "is there twice");
    config.addresses.push_back(*address);
  }
  config.port_lo = static_cast<uint16_t>(reader.integer("port_lo", 1, UINT16_MAX, 1024));
  config.port_hi = static_cast<uint16_t>(reader.integer("port_hi", 1, UINT16_MAX, UINT16_MAX));
  if (config.port_hi < config.port_lo) throw ConfigError(reader.at("port_hi"), "must not be below port_lo");
  config.idle_ns = reader.integer("idle_timeout_s", 1, 86400, 120) * 1'000'000'000u;
  config.max_flows = static_cast<uint32_t>(reader.integer("max_flows", 1, kMaxFlows, 65536));
  reader.finish();
  return config;
}

std::optional<PortSpace> space_of_proto(uint8_t proto) {
  switch (proto) {
    case kProtoTcp:
      return PortSpace::kTcp;
    case kProtoUdp:
      return PortSpace::kUdp;
    case kProtoIcmp:
      return PortSpace::kIcmp;
    default:
      return std::nullopt;
  }
}

constexpr const char* kSpaceNames[] = {"tcp", "udp", "icmp"};

class Nat final : public NfCore {
 public:
  explicit Nat(Config config)
      : config_(std::move(config)),
        mappings_(config_.max_flows, config_.idle_ns / 16),
        ports_(config_.addresses, config_.port_lo, config_.port_hi) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    expire(now_ns, kExpiriesPerBatch);
    for (size_t begin = 0; begin < packets.size(); begin += kBatch) {
      const size_t count = std::min(packets.size() - begin, kBatch);
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

  std::unique_ptr<NextConfig> prepare(const json& value) const override {
    return std::make_unique<Next>(read_config(value));
  }

  // Mappings live on where their external port still exists and the table has room; the youngest first.
  void take(NextConfig& next) noexcept override {
    auto& [config, mappings, ports, keep] = static_cast<Next&>(next);
    if (config == config_) return;
    mappings_.for_each([&](const MappingTable::Entry& e) {
      const bool exists = ports.index_of(e.value.external_address) && e.value.external.port >= config.port_lo &&
                          e.value.external.port <= config.port_hi;
      if (exists) keep.push_back(&e);
      return keep.size() < config.max_flows;
    });
    std::ranges::reverse(keep);
    for (const auto* old : keep) {
      const ExternalPort external{*ports.index_of(old->value.external_address), old->value.external.port};
      auto& entry = mappings.insert(old->key, mappings.hash(old->key), old->last_seen_ns);
      entry.value = {old->value.external_address, external, old->value.packets};
      ports.take_exactly(external, PortSpace(old->key.space), mappings.id_of(entry));
    }
    ports.rebuild_free_lists();
    lost_by_reconfiguration_ += mappings_.size() - mappings.size();
    std::swap(config_, config);
    std::swap(mappings_, mappings);
    std::swap(ports_, ports);
  }

  json state(size_t limit) const override {
    const uint64_t now_ns = monotonic_ns();
    json mappings = json::array();
    mappings_.for_each([&](const MappingTable::Entry& e) {
      if (mappings.size() >= limit) return false;
      mappings.push_back({{"proto", kSpaceNames[e.key.space]},
                          {"internal", address_text(e.key.address)},
                          {"internal_port", e.key.port},
                          {"external", address_text(e.value.external_address)},
                          {"external_port", e.value.external.port},
                          {"packets", e.value.packets},
                          {"idle_ms", age_ms(now_ns, e.last_seen_ns)}});
      return true;
    });
    json addresses = json::array();
    for (size_t i = 0; i < config_.addresses.size() && i < limit; ++i) {
      json free = json::object();
      for (size_t s = 0; s < kPortSpaces; ++s) free[kSpaceNames[s]] = ports_.free_ports(i, PortSpace(s));
      addresses.push_back({{"address", address_text(config_.addresses[i])}, {"free_ports", std::move(free)}});
    }
    return {{"flows", mappings_.size()},
            {"max_flows", mappings_.capacity()},
            {"flows_created", created_},
            {"flows_expired", expired_},
            {"flows_lost_by_reconfiguration", lost_by_reconfiguration_},
            {"imports_refused", imports_refused_},
            {"translated_forward", translated_forward_},
            {"translated_return", translated_return_},
            {"non_ip", non_ip_},
            {"addresses", std::move(addresses)},
            {"mappings", std::move(mappings)}};
  }

  // Rows of [port space, internal address, internal port, external address, external port, idle ms], youngest first.
  json export_state() const override {
    const uint64_t now_ns = monotonic_ns();
    json flows = json::array();
    mappings_.for_each([&](const MappingTable::Entry& e) {
      flows.push_back({e.key.space, e.key.address, e.key.port, e.value.external_address, e.value.external.port,
                       age_ms(now_ns, e.last_seen_ns)});
      return flows.size() < kMaxExportedFlows;
    });
    return {{"flows", std::move(flows)}};
  }

  // A flow whose port, mapping or address is not to be had here is counted and left out; the others are taken.
  void import_state(const json& state) override {
    ConfigReader reader(state, "");
    const auto& rows = reader.array("flows", kMaxExportedFlows);
    reader.finish();
    constexpr uint64_t kMax[] = {kPortSpaces - 1, UINT32_MAX, UINT16_MAX, UINT32_MAX, UINT16_MAX, kMaxAgeMs};
    const auto flows = read_rows(rows, reader.at("flows"), kMax);
    const uint64_t now_ns = monotonic_ns();
    for (auto row = flows.rbegin(); row != flows.rend(); ++row) {
      const auto& r = *row;
      const MappingKey key{static_cast<uint32_t>(r[1]), static_cast<uint16_t>(r[2]), static_cast<uint16_t>(r[0])};
      import_mapping(key, static_cast<uint32_t>(r[3]), static_cast<uint16_t>(r[4]), time_at_age(now_ns, r[5]));
    }
    ports_.rebuild_free_lists();
  }

 private:
  void import_mapping(const MappingKey& key, uint32_t external_address, uint16_t external_port, uint64_t last_seen_ns) {
    const uint32_t hash = mappings_.hash(key);
    const auto address_index = ports_.index_of(external_address);
    if (const auto* known = mappings_.find(key, hash)) {
      if (known->value.external_address != external_address || known->value.external.port != external_port)
        ++imports_refused_;
      return;
    }
    const auto* owner = address_index ? ports_.owner(*address_index, PortSpace(key.space), external_port) : nullptr;
    if (owner == nullptr || *owner != PortMap::kFree || mappings_.full()) {
      ++imports_refused_;
      return;
    }
    auto& entry = mappings_.insert(key, hash, last_seen_ns);
    entry.value = {external_address, {*address_index, external_port}, 0};
    ports_.take_exactly(entry.value.external, PortSpace(key.space), mappings_.id_of(entry));
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
  std::optional<uint16_t> port_to_translate(NfPacket& packet, Direction out, NfVerdict& verdict) {
    const bool forward = out == Direction::kForward;
    const ParsedPacket& p = packet.parsed;
    verdict = {.drop = false, .drop_reason = 0, .out = out};
    if (p.kind == PacketKind::kNonIp) {
      ++non_ip_;
      return {};
    }
    if (const auto reason = refuse(packet)) {
      verdict = drop(*reason, out);
      return {};
    }
    if (p.ip_proto != kProtoIcmp) return forward ? p.src_port : p.dst_port;
    const auto type = icmp_type(packet);
    if (is_icmp_error(type)) {
      verdict = translate_error(packet, out);
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
    std::array<MappingKey, kBatch> keys;
    std::array<uint32_t, kBatch> hashes;
    std::array<uint8_t, kBatch> todo;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      const ParsedPacket& p = packets[i].parsed;
      const auto port = port_to_translate(packets[i], kOut, verdicts[i]);
      if (!port) continue;
      keys[count] = {p.ip_src, *port, static_cast<uint16_t>(*space_of_proto(p.ip_proto))};
      todo[count++] = static_cast<uint8_t>(i);
    }
    for (size_t n = 0; n < count; ++n) {
      hashes[n] = mappings_.hash(keys[n]);
      mappings_.prefetch(hashes[n]);
    }
    for (size_t n = 0; n < count; ++n) mappings_.prefetch_entry(hashes[n]);
    for (size_t n = 0; n < count; ++n) {
      MappingTable::Entry* entry = mappings_.find(keys[n], hashes[n]);
      if (entry == nullptr) entry = create(keys[n], hashes[n], now_ns);
      if (entry == nullptr) {
        verdicts[todo[n]] = drop(kNoPort, kOut);
        continue;
      }
      mappings_.touch(*entry, now_ns);
      ++entry->value.packets;
      ++translated_forward_;
      rewrite_endpoint(packets[todo[n]], Side::kSource, {entry->value.external_address, entry->value.external.port});
    }
  }

  void return_batch(std::span<NfPacket> packets, std::span<NfVerdict> verdicts, uint64_t now_ns) {
    constexpr Direction kOut = Direction::kReturn;
    std::array<const uint32_t*, kBatch> owners;
    std::array<uint8_t, kBatch> todo;
    size_t count = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
      const ParsedPacket& p = packets[i].parsed;
      const auto port = port_to_translate(packets[i], kOut, verdicts[i]);
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
      if (*owners[n] != PortMap::kFree) __builtin_prefetch(&mappings_.at(*owners[n]));
    for (size_t n = 0; n < count; ++n) {
      if (*owners[n] == PortMap::kFree) {
        verdicts[todo[n]] = drop(kNoMapping, kOut);
        continue;
      }
      MappingTable::Entry& entry = mappings_.at(*owners[n]);
      mappings_.touch(entry, now_ns);
      ++entry.value.packets;
      ++translated_return_;
      rewrite_endpoint(packets[todo[n]], Side::kDestination, {entry.key.address, entry.key.port});
    }
  }

  const uint32_t* owner_of(uint32_t external_address, PortSpace space, uint16_t port) const {
    const auto address_index = ports_.index_of(external_address);
    return address_index ? ports_.owner(*address_index, space, port) : nullptr;
  }

  // Errors do not keep a mapping alive: they come from anywhere.
  NfVerdict translate_error(NfPacket& packet, Direction direction) {
    const auto quoted = quoted_packet(packet);
    if (!quoted) return drop(kUnsupported, direction);
    const PortSpace space = *space_of_proto(quoted->proto);
    if (direction == Direction::kReturn) {
      const uint32_t* owner = owner_of(quoted->source.address, space, quoted->source.port);
      if (owner == nullptr || *owner == PortMap::kFree || packet.parsed.ip_dst != quoted->source.address)
        return drop(kNoMapping, direction);
      const auto& entry = mappings_.at(*owner);
      rewrite_icmp_error(packet, *quoted, Side::kDestination, {entry.key.address, entry.key.port});
      ++translated_return_;
    } else {
      const MappingKey key{quoted->destination.address, quoted->destination.port, static_cast<uint16_t>(space)};
      const auto* entry = mappings_.find(key, mappings_.hash(key));
      if (entry == nullptr) return drop(kNoMapping, direction);
      rewrite_icmp_error(packet, *quoted, Side::kSource, {entry->value.external_address, entry->value.external.port});
      ++translated_forward_;
    }
    return {.drop = false, .drop_reason = 0, .out = direction};
  }

  MappingTable::Entry* create(const MappingKey& key, uint32_t hash, uint64_t now_ns) {
    if (mappings_.full()) expire(now_ns, kExpiriesWhenFull);
    if (mappings_.full()) return nullptr;
    const auto space = PortSpace(key.space);
    // The hash of the address alone, so that a host keeps one external address.
    const size_t preferred = mappings_.hash({key.address, 0, 0}) % config_.addresses.size();
    auto external = ports_.take(preferred, space);
    if (!external && expire(now_ns, kExpiriesWhenFull) != 0) external = ports_.take(preferred, space);
    if (!external) return nullptr;
    auto& entry = mappings_.insert(key, hash, now_ns);
    entry.value = {config_.addresses[external->address_index], *external, 0};
    ports_.set_owner(*external, space, mappings_.id_of(entry));
    ++created_;
    return &entry;
  }

  uint32_t expire(uint64_t now_ns, uint32_t limit) {
    const uint32_t count = mappings_.expire(now_ns, config_.idle_ns, limit, [&](const MappingTable::Entry& e) {
      ports_.give_back(e.value.external, PortSpace(e.key.space));
    });
    expired_ += count;
    return count;
  }

  struct Next final : NextConfig {
    explicit Next(Config of)
        : config(std::move(of)),
          mappings(config.max_flows, config.idle_ns / 16),
          ports(config.addresses, config.port_lo, config.port_hi) {
      keep.reserve(config.max_flows);
    }
    Config config;
    MappingTable mappings;
    PortMap ports;
    std::vector<const MappingTable::Entry*> keep;
  };

  Config config_;
  MappingTable mappings_;
  PortMap ports_;
  uint64_t created_ = 0;
  uint64_t expired_ = 0;
  uint64_t lost_by_reconfiguration_ = 0;
  uint64_t imports_refused_ = 0;
  uint64_t translated_forward_ = 0;
  uint64_t translated_return_ = 0;
  uint64_t non_ip_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make_nat(const json& config, std::span<const MetadataField>) {
  return std::make_unique<Nat>(read_config(config));
}

}  // namespace orrery
