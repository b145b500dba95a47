// SPDX-License-Identifier: Apache-2.0
#include "nfs/traffic-normalizer/traffic_normalizer_core.h"

#include <algorithm>
#include <array>
#include <optional>

#include "nfs/config_reader.h"
#include "nfs/flow_state.h"
#include "nfs/traffic-normalizer/findings.h"
#include "nfs/traffic-normalizer/fragments.h"

namespace orrery::traffic_normalizer {
namespace {

using nlohmann::json;

constexpr std::string_view kDropReasons[] = {"malformed",      "bad_checksum", "bad_flags", "bad_fragment",
                                             "fragments_full", "ip_options",   "low_ttl",   "forbidden_bits"};
enum DropReason : uint8_t {
  kMalformed,
  kBadChecksum,
  kBadFlags,
  kBadFragment,
  kFragmentsFull,
  kIpOptions,
  kLowTtl,
  kForbiddenBits
};

// The first finding that asks for a drop gives the reason.
constexpr std::array<DropReason, kFindings> kReasonOf = {kBadChecksum, kBadChecksum,   kBadFlags,      kBadFragment,
                                                         kBadFragment, kForbiddenBits, kForbiddenBits, kIpOptions,
                                                         kLowTtl,      kForbiddenBits};

struct Config {
  Findings looked_for;
  Findings dropped;
  Findings mended;
  uint8_t min_ttl;
  FlowLimits datagrams;

  bool operator==(const Config&) const = default;
};

struct Counters {
  std::array<uint64_t, kFindings> found{};
  std::array<uint64_t, kFindings> mended{};
  std::array<uint64_t, std::size(kDropReasons)> dropped{};
  uint64_t passed = 0;
  uint64_t non_ip = 0;
  uint64_t duplicate_fragments = 0;
  uint64_t complete_datagrams = 0;
};

struct Figures {
  FlowFigures datagrams;
  Counters counters;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config{};
  const auto read = [&](Finding finding, std::initializer_list<std::string_view> choices, std::string_view absent) {
    const std::string action =
        reader.choice_or(std::string(kFindingNames[static_cast<size_t>(finding)]), choices, absent);
    if (action != "ignore") config.looked_for.add(finding);
    if (action == "drop") config.dropped.add(finding);
    if (action == "clear" || action == "raise") config.mended.add(finding);
  };
  read(Finding::kHeaderChecksum, {"ignore", "count", "drop"}, "drop");
  read(Finding::kTransportChecksum, {"ignore", "count", "drop"}, "drop");
  read(Finding::kTcpFlags, {"count", "drop"}, "drop");
  read(Finding::kTinyFragment, {"count", "drop"}, "drop");
  read(Finding::kOverlap, {"ignore", "count", "drop"}, "drop");
  read(Finding::kReservedBits, {"count", "clear", "drop"}, "clear");
  read(Finding::kDfFragment, {"count", "clear", "drop"}, "clear");
  read(Finding::kIpOptions, {"count", "clear", "drop"}, "clear");
  read(Finding::kLowTtl, {"count", "raise", "drop"}, "raise");
  read(Finding::kUrgent, {"count", "clear", "drop"}, "clear");
  config.min_ttl = static_cast<uint8_t>(reader.integer_or("min_ttl", 0, 255, 0));
  config.datagrams.max_flows = static_cast<uint32_t>(reader.integer_or("max_datagrams", 1, kMaxDatagrams, 1024));
  config.datagrams.idle_ns =
      static_cast<uint64_t>(reader.integer_or("fragment_timeout_s", 1, 600, 60)) * 1'000'000'000u;
  config.datagrams.granularity_ns = 0;
  reader.done();
  return config;
}

class TrafficNormalizer final : public NfCore {
 public:
  explicit TrafficNormalizer(const Config& config) : config_(config), datagrams_(config.datagrams) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    datagrams_.expire(now_ns);
    for (size_t i = 0; i < packets.size(); ++i) {
      const auto reason = normalize(packets[i], now_ns);
      ++(reason ? counters_.dropped[*reason] : counters_.passed);
      verdicts[i] = {.drop = reason.has_value(), .drop_reason = reason.value_or(kMalformed), .out = in};
    }
  }

  std::span<const std::string_view> drop_reasons() const override { return kDropReasons; }

  std::unique_ptr<NextConfig> prepare(const json& value, std::span<const MetadataField>) const override {
    return std::make_unique<Next>(datagrams_, read_config(value));
  }

  void take(NextConfig& next) noexcept override {
    auto& [config, datagrams] = static_cast<Next&>(next);
    config_ = config;
    datagrams_.take(datagrams);
  }

  std::unique_ptr<StateCopy> copy_state(size_t) const override {
    return copy_figures(
        [this] {
          return Figures{datagrams_.figures(), counters_};
        },
        [](const Figures& figures, RowForm) { return view(figures); });
  }

  // Datagrams under way are not worth a move: they last for less.
  std::unique_ptr<StateCopy> copy_flows() const override { return copy_no_flows(); }
  std::unique_ptr<StateImport> prepare_import(const json& state, KnownFlows) override { return import_no_flows(state); }

 private:
  static json view(const Figures& figures) {
    const auto& [datagrams, counters] = figures;
    json found = json::object(), mended = json::object(), dropped = json::object();
    for (size_t i = 0; i < kFindings; ++i) {
      found[std::string(kFindingNames[i])] = counters.found[i];
      mended[std::string(kFindingNames[i])] = counters.mended[i];
    }
    for (size_t i = 0; i < std::size(kDropReasons); ++i) dropped[std::string(kDropReasons[i])] = counters.dropped[i];
    return {{"passed", counters.passed},
            {"non_ip", counters.non_ip},
            {"found", std::move(found)},
            {"mended", std::move(mended)},
            {"dropped", std::move(dropped)},
            {"duplicate_fragments", counters.duplicate_fragments},
            {"complete_datagrams", counters.complete_datagrams},
            {"datagrams", datagrams.size},
            {"max_datagrams", datagrams.capacity},
            {"datagrams_expired", datagrams.expired}};
  }

  // Why the packet is dropped; nothing when it passes, mended.
  std::optional<DropReason> normalize(NfPacket& packet, uint64_t now_ns) {
    const ParsedPacket& p = packet.parsed;
    if (p.kind == PacketKind::kNonIp) {
      ++counters_.non_ip;
      return std::nullopt;
    }
    if (p.kind == PacketKind::kMalformed) {
      if (!is_tiny_fragment(packet)) return kMalformed;
      return count_and_judge(Finding::kTinyFragment);
    }
    const Findings found = examine(packet, config_.looked_for, config_.min_ttl);
    if (!found.empty()) {
      std::optional<DropReason> reason;
      found.for_each([&](Finding finding) {
        const auto drop = count_and_judge(finding);
        if (!reason) reason = drop;
      });
      if (reason) return reason;
    }
    if (p.fragment && config_.looked_for.has(Finding::kOverlap))
      if (const auto reason = track(packet, now_ns)) return reason;
    const Findings to_mend = found & config_.mended;
    if (to_mend.empty()) return std::nullopt;
    if (to_mend.has(Finding::kIpOptions) && has_source_route(packet)) return kIpOptions;
    to_mend.for_each([&](Finding finding) { ++counters_.mended[static_cast<size_t>(finding)]; });
    mend(packet, to_mend, config_.min_ttl);
    return std::nullopt;
  }

  std::optional<DropReason> count_and_judge(Finding finding) {
    ++counters_.found[static_cast<size_t>(finding)];
    return config_.dropped.has(finding) ? std::optional(kReasonOf[static_cast<size_t>(finding)]) : std::nullopt;
  }

  // Takes a fragment into account that passes otherwise. Which copy of a duplicate passes does not matter to a receiver
  // that gets one. Of other overlaps the first one stays; over IPv6 nothing of the datagram passes from there on.
  std::optional<DropReason> track(const NfPacket& packet, uint64_t now_ns) {
    const DatagramKey key = DatagramKey::of(packet);
    const uint32_t hash = datagrams_.table().hash(key);
    Datagrams::Entry* entry = datagrams_.find(key, hash);
    if (entry != nullptr && datagrams_.idle_too_long(*entry, now_ns)) {
      datagrams_.table().erase(*entry);
      datagrams_.count_expired();
      entry = nullptr;
    }
    if (entry == nullptr) {
      if (!datagrams_.make_room(now_ns)) return kFragmentsFull;
      entry = &datagrams_.insert(key, hash, now_ns);
    }
    datagrams_.touch(*entry, now_ns);
    Datagram& datagram = entry->value;
    switch (datagram.is_spoilt() ? PartVerdict::kConflict : datagram.take(FragmentPart::of(packet))) {
      case PartVerdict::kNew:
        return std::nullopt;
      case PartVerdict::kComplete:
        ++counters_.complete_datagrams;
        datagrams_.table().erase(*entry);
        return std::nullopt;
      case PartVerdict::kDuplicate:
        ++counters_.duplicate_fragments;
        break;
      case PartVerdict::kConflict:
        if (packet.parsed.ip_version == 6 && config_.dropped.has(Finding::kOverlap)) datagram.spoil();
        break;
    }
    return count_and_judge(Finding::kOverlap);
  }

  struct Next final : NextConfig {
    Next(const Datagrams& from, const Config& of) : config(of), datagrams(from, config.datagrams) {}
    Config config;
    Datagrams::Resize datagrams;
  };

  Config config_;
  Datagrams datagrams_;
  Counters counters_;
};

}  // namespace

std::unique_ptr<NfCore> make(const json& config, std::span<const MetadataField>) {
  return std::make_unique<TrafficNormalizer>(read_config(config));
}

}  // namespace orrery::traffic_normalizer
