// SPDX-License-Identifier: Apache-2.0
#include "nfs/static-nat/static_nat_core.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/state_copy.h"
#include "nfs/state_import.h"
#include "nfs/static-nat/address_table.h"
#include "nfs/translation/translate.h"

namespace orrery::static_nat {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"no_mapping", "malformed", "unsupported"};
enum DropReason : uint8_t { kNoMapping, kMalformed, kUnsupported };

constexpr size_t kMaxMappings = 256;
constexpr uint8_t kDccp = 33, kAuthentication = 51, kUdpLite = 136;

struct Mapping {
  Ipv6Address inside;
  Ipv6Address outside;

  bool operator==(const Mapping&) const = default;
};

struct Config {
  std::vector<Mapping> mappings;
  bool pass_unmapped;

  bool operator==(const Config&) const = default;
};

// In ascending order.
std::vector<Ipv6Address> read_external_addresses(ConfigReader& reader) {
  const json& items = reader.array("external_addresses", 1, kMaxMappings);
  std::vector<Ipv6Address> addresses;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string pointer = reader.pointer_to("external_addresses", i);
    const Ipv6Address address = ConfigReader::ip_address(items[i], pointer);
    if (std::ranges::find(addresses, address) != addresses.end()) throw ConfigError(pointer, "appears twice");
    addresses.push_back(address);
  }
  std::ranges::sort(addresses, [](const Ipv6Address& a, const Ipv6Address& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  });
  return addresses;
}

// One item of `mappings`; `outside` is nothing where it is left to the list of external addresses.
struct Wanted {
  Ipv6Address inside;
  std::optional<Ipv6Address> outside;
};

Wanted read_mapping(const json& item, const std::string& pointer) {
  ConfigReader reader(item, pointer);
  Wanted wanted;
  wanted.inside = reader.ip_address("inside");
  if (reader.optional("outside") != nullptr) {
    wanted.outside = reader.ip_address("outside");
    if (is_ipv4_mapped(*wanted.outside) != is_ipv4_mapped(wanted.inside))
      throw ConfigError(reader.pointer_to("outside"), "must be an address of the same IP version as the inside one");
  }
  reader.done();
  return wanted;
}

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config{};
  config.pass_unmapped = reader.choice_or("unmapped", {"drop", "pass"}, "drop") == "pass";
  std::vector<Ipv6Address> external = read_external_addresses(reader);
  const json& items = reader.array("mappings", 1, kMaxMappings);
  std::vector<Wanted> all;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string pointer = reader.pointer_to("mappings", i);
    all.push_back(read_mapping(items[i], pointer));
    const Wanted& wanted = all.back();
    if (std::ranges::count(all, wanted.inside, &Wanted::inside) > 1)
      throw ConfigError(pointer + "/inside", "appears twice");
    if (!wanted.outside) continue;
    if (std::ranges::count(all, wanted.outside, &Wanted::outside) > 1)
      throw ConfigError(pointer + "/outside", "appears twice");
    if (std::erase(external, *wanted.outside) == 0)
      throw ConfigError(pointer + "/outside", "must be one of the external addresses");
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Wanted& wanted = all[i];
    Ipv6Address outside;
    if (wanted.outside) {
      outside = *wanted.outside;
    } else {
      const auto free = std::ranges::find(external, is_ipv4_mapped(wanted.inside), is_ipv4_mapped);
      if (free == external.end())
        throw ConfigError(reader.pointer_to("mappings", i), "finds no external address that is left for it");
      outside = *free;
      external.erase(free);
    }
    config.mappings.push_back({wanted.inside, outside});
  }
  reader.done();
  return config;
}

std::vector<Ipv6Address> addresses_of(const Config& config, Ipv6Address Mapping::*side) {
  std::vector<Ipv6Address> out;
  out.reserve(config.mappings.size());
  for (const Mapping& mapping : config.mappings) out.push_back(mapping.*side);
  return out;
}

// A configuration and the tables that it needs.
struct Table {
  explicit Table(Config of)
      : config(std::move(of)),
        inside(addresses_of(config, &Mapping::inside)),
        outside(addresses_of(config, &Mapping::outside)) {}

  Config config;
  AddressTable inside;
  AddressTable outside;
};

struct Counters {
  std::array<uint64_t, kMaxMappings> forward{};  // packets of each mapping
  std::array<uint64_t, kMaxMappings> back{};
  uint64_t unmapped = 0;
  uint64_t non_ip = 0;
};

Ipv6Address end_of(const ParsedPacket& p, Side side) {
  if (p.ip_version == 6) return side == Side::kSource ? p.ipv6_src : p.ipv6_dst;
  return ipv4_mapped(side == Side::kSource ? p.ip_src : p.ip_dst);
}

// In a later fragment of IPv6 the authentication header is what its fragment header names.
bool protects_addresses(const ParsedPacket& p) {
  return p.ip_proto == kDccp || p.ip_proto == kAuthentication || p.ip_proto == kUdpLite || p.authentication_header;
}

bool is_error(const NfPacket& packet) {
  const ParsedPacket& p = packet.parsed;
  return p.kind == PacketKind::kIpTransport && is_icmp(p) && is_icmp_error(packet.data[p.l4_offset], p.ip_version);
}

class StaticNat final : public NfCore {
 public:
  explicit StaticNat(Config config) : table_(std::move(config)) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t) override {
    for (size_t i = 0; i < packets.size(); ++i) {
      const auto reason = translate(packets[i], in);
      verdicts[i] = {.drop = reason.has_value(), .drop_reason = reason.value_or(kNoMapping), .out = in};
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField>) const override {
    return std::make_unique<Next>(read_config(value));
  }

  // Counts start again where the mappings are others.
  void take(NextConfig& next) noexcept override {
    Table& table = static_cast<Next&>(next).table;
    if (table.config.mappings != table_.config.mappings) counters_ = {};
    std::swap(table_, table);
  }

  std::unique_ptr<StateCopy> copy_state(size_t limit) const override {
    return copy_figures([this] { return counters_; },
                        [this, limit](const Counters& counters, RowForm) { return view(counters, limit); });
  }

  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override { return import_no_flows(state); }

 private:
  json view(const Counters& counters, size_t limit) const {
    json rows = json::array();
    for (size_t i = 0; i < std::min(limit, table_.config.mappings.size()); ++i) {
      const Mapping& mapping = table_.config.mappings[i];
      rows.push_back({{"inside", address_text(mapping.inside)},
                      {"outside", address_text(mapping.outside)},
                      {"forward", counters.forward[i]},
                      {"return", counters.back[i]}});
    }
    return {{"unmapped", counters.unmapped}, {"non_ip", counters.non_ip}, {"mappings", std::move(rows)}};
  }

  // Why the packet is dropped; nothing when it passes.
  std::optional<DropReason> translate(NfPacket& packet, Direction in) {
    const ParsedPacket& p = packet.parsed;
    if (p.kind == PacketKind::kMalformed) return kMalformed;
    if (p.kind == PacketKind::kNonIp) {
      ++counters_.non_ip;
      return std::nullopt;
    }
    const bool forward = in == Direction::kForward;
    const Side side = forward ? Side::kSource : Side::kDestination;
    const auto position = (forward ? table_.inside : table_.outside).find(end_of(p, side));
    if (!position) {
      ++counters_.unmapped;
      return table_.config.pass_unmapped ? std::nullopt : std::optional(kNoMapping);
    }
    if (protects_addresses(p) || (side == Side::kDestination && p.segments_left)) return kUnsupported;
    if (is_error(packet))
      if (const auto reason = translate_quoted(packet, forward)) return reason;
    const Mapping& mapping = table_.config.mappings[*position];
    rewrite_address(packet, side, forward ? mapping.outside : mapping.inside);
    ++(forward ? counters_.forward : counters_.back)[*position];
    return std::nullopt;
  }

  // The packet that an error quotes went the other way: an error of the inside is about a packet to an inside address.
  std::optional<DropReason> translate_quoted(NfPacket& packet, bool forward) {
    const auto quoted = quoted_ip_packet(packet);
    if (!quoted) return kUnsupported;
    const Endpoint& ours = forward ? quoted->destination : quoted->source;
    const auto position = (forward ? table_.inside : table_.outside).find(ours.address);
    if (!position) return kNoMapping;
    const Mapping& mapping = table_.config.mappings[*position];
    rewrite_quoted(packet, *quoted, forward ? Side::kDestination : Side::kSource,
                   {forward ? mapping.outside : mapping.inside, ours.port});
    return std::nullopt;
  }

  struct Next final : NextConfig {
    explicit Next(Config of) : table(std::move(of)) {}
    Table table;
  };

  Table table_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  return std::make_unique<StaticNat>(read_config(config));
}

}  // namespace orrery::static_nat
