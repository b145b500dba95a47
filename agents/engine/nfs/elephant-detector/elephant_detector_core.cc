// SPDX-License-Identifier: Apache-2.0
#include "nfs/elephant-detector/elephant_detector_core.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "nfs/class_bits.h"
#include "nfs/config_reader.h"
#include "nfs/flow_moves.h"
#include "nfs/flow_rows.h"
#include "nfs/ipv4_frame.h"
#include "support/checksum.h"
#include "support/clock.h"
#include "support/flow_table.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr size_t kBatch = 32;
constexpr uint32_t kMaxFlows = 1u << 20;
constexpr uint32_t kExpiriesPerBatch = 4;
constexpr uint64_t kMaxBytes = UINT32_MAX;  // as on a board
constexpr uint8_t kUnset = 0, kMouse = 1, kElephant = 2;

// An elephant's window does not end.
struct FlowSize {
  uint64_t window_began_ns;
  uint64_t window_bytes;  // at most kMaxBytes
  bool elephant;
};

using FlowSizes = FlowTable<FlowTuple, FlowSize>;

struct Config {
  uint64_t threshold_bytes;
  uint64_t window_ns;
  uint64_t idle_ns;
  uint32_t max_flows;
};

Config read_config(const json& value) {
  ConfigReader reader(value, "");
  Config config;
  config.threshold_bytes = reader.integer("threshold_bytes", 1, kMaxBytes, 1u << 20);
  config.window_ns = reader.integer("window_ms", 1, 60000, 1000) * 1'000'000u;
  config.idle_ns = reader.integer("idle_timeout_s", 1, 43200, 60) * 1'000'000'000u;
  config.max_flows = static_cast<uint32_t>(reader.integer("max_flows", 1, kMaxFlows, 4096));
  reader.finish();
  return config;
}

class ElephantDetector final : public NfCore {
 public:
  ElephantDetector(const Config& config, std::span<const MetadataField> metadata)
      : bits_(metadata, "size", {"mouse", "elephant"}), config_(config), flows_(config.max_flows, 0) {}

  void process(std::span<NfPacket> packets, Direction in, std::span<NfVerdict> verdicts, uint64_t now_ns) override {
    expired_ += flows_.expire(now_ns, config_.idle_ns, kExpiriesPerBatch, [](const auto&) {});
    for (size_t begin = 0; begin < packets.size(); begin += kBatch)
      size_batch(packets.subspan(begin, std::min(packets.size() - begin, kBatch)), in, now_ns);
    for (NfVerdict& verdict : verdicts) verdict = {.drop = false, .drop_reason = 0, .out = in};
  }

  std::span<const std::string_view> drop_reasons() const override { return {}; }

  std::unique_ptr<NextConfig> prepare(const json& value) const override {
    return std::make_unique<Next>(read_config(value));
  }

  // A smaller table keeps the youngest flows.
  void take(NextConfig& next) noexcept override {
    auto& [config, flows, keep] = static_cast<Next&>(next);
    copy_youngest(flows_, flows, keep);
    evicted_ += flows_.size() - flows.size();
    config_ = config;
    std::swap(flows_, flows);
  }

  // Elephants first, the flow with most bytes in its window before others.
  json state(size_t limit) const override {
    std::vector<const FlowSizes::Entry*> top;
    top.reserve(flows_.size());
    size_t elephants = 0;
    flows_.for_each([&](const FlowSizes::Entry& e) {
      top.push_back(&e);
      elephants += e.value.elephant;
      return true;
    });
    const auto end = top.begin() + static_cast<ptrdiff_t>(std::min(limit, top.size()));
    std::ranges::partial_sort(top, end, std::greater{},
                              [](const auto* e) { return std::tuple(e->value.elephant, e->value.window_bytes); });
    json flows = json::array();
    for (auto it = top.begin(); it != end; ++it) {
      const FlowSizes::Entry& e = **it;
      flows.push_back({{"src", address_text(e.key.src)},
                       {"dst", address_text(e.key.dst)},
                       {"proto", e.key.proto},
                       {"src_port", e.key.src_port},
                       {"dst_port", e.key.dst_port},
                       {"size", e.value.elephant ? "elephant" : "mouse"},
                       {"window_bytes", e.value.window_bytes},
                       {"last_seen_ms", wall_ms_at(e.last_seen_ns)}});
    }
    return {{"flow_count", flows_.size()}, {"max_flows", flows_.capacity()},
            {"elephants", elephants},      {"elephants_found", found_},
            {"flows_expired", expired_},   {"flows_evicted", evicted_},
            {"mouse_packets", mice_},      {"elephant_packets", elephant_packets_},
            {"malformed", malformed_},     {"non_ip", non_ip_},
            {"flows", std::move(flows)}};
  }

  json export_state() const override {
    const uint64_t now_ns = monotonic_ns();
    json flows = json::array();
    flows_.for_each([&](const FlowSizes::Entry& e) {
      flows.push_back({e.key.src, e.key.dst, e.key.src_port, e.key.dst_port, e.key.proto, e.value.window_bytes,
                       e.value.elephant ? 1 : 0, age_ms(now_ns, e.value.window_began_ns),
                       age_ms(now_ns, e.last_seen_ns)});
      return flows.size() < kMaxExportedFlows;
    });
    return {{"flows", std::move(flows)}};
  }

  void import_state(const json& state) override {
    ConfigReader reader(state, "");
    const auto& items = reader.array("flows", kMaxExportedFlows);
    reader.finish();
    constexpr uint64_t kMax[] = {UINT32_MAX, UINT32_MAX, UINT16_MAX, UINT16_MAX, 255,
                                 kMaxBytes,  1,          kMaxAgeMs,  kMaxAgeMs};
    const uint64_t now_ns = monotonic_ns();
    std::vector<MovingFlow<FlowSize>> flows;
    for (const auto& r : read_rows(items, reader.at("flows"), kMax))
      flows.push_back({flow_of_row(r), {time_at_age(now_ns, r[7]), r[5], r[6] == 1}, time_at_age(now_ns, r[8])});
    evicted_ += merge_flows(flows_, std::move(flows));
  }

 private:
  void size_batch(std::span<NfPacket> packets, Direction in, uint64_t now_ns) {
    std::array<FlowTuple, kBatch> keys;
    std::array<uint32_t, kBatch> hashes;
    for (size_t i = 0; i < packets.size(); ++i) keys[i] = flow_of(packets[i].parsed, in);
    for (size_t i = 0; i < packets.size(); ++i) {
      hashes[i] = flows_.hash(keys[i]);
      flows_.prefetch(hashes[i]);
    }
    for (size_t i = 0; i < packets.size(); ++i) flows_.prefetch_entry(hashes[i]);
    for (size_t i = 0; i < packets.size(); ++i)
      bits_.write(packets[i].metadata, size_of(packets[i], keys[i], hashes[i], now_ns));
  }

  uint8_t size_of(const NfPacket& packet, const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    if (packet.parsed.kind == PacketKind::kNonIp) {
      ++non_ip_;
      return kUnset;
    }
    if (packet.parsed.kind == PacketKind::kMalformed) {
      ++malformed_;
      return kUnset;
    }
    const uint16_t ip_bytes = load_be16(packet.data + packet.parsed.l3_offset + 2);
    const bool elephant = count(key, hash, ip_bytes, now_ns);
    ++(elephant ? elephant_packets_ : mice_);
    return elephant ? kElephant : kMouse;
  }

  // Whether the flow is an elephant with these bytes.
  bool count(const FlowTuple& key, uint32_t hash, uint16_t ip_bytes, uint64_t now_ns) {
    FlowSizes::Entry& entry = entry_of(key, hash, now_ns);
    FlowSize& flow = entry.value;
    if (!flow.elephant && passed(flow.window_began_ns, config_.window_ns, now_ns)) {
      flow.window_began_ns = now_ns;
      flow.window_bytes = 0;
    }
    flow.window_bytes = std::min(flow.window_bytes + ip_bytes, kMaxBytes);
    if (!flow.elephant && flow.window_bytes >= config_.threshold_bytes) {
      flow.elephant = true;
      ++found_;
    }
    return flow.elephant;
  }

  // The flow of a packet; a new one where there is none or it was idle for too long.
  FlowSizes::Entry& entry_of(const FlowTuple& key, uint32_t hash, uint64_t now_ns) {
    if (FlowSizes::Entry* entry = flows_.find(key, hash)) {
      if (passed(entry->last_seen_ns, config_.idle_ns, now_ns)) {
        entry->value = {now_ns, 0, false};
        ++expired_;
      }
      flows_.touch(*entry, now_ns);
      return *entry;
    }
    if (flows_.full()) {
      flows_.erase(*flows_.oldest());
      ++evicted_;
    }
    FlowSizes::Entry& entry = flows_.insert(key, hash, now_ns);
    entry.value.window_began_ns = now_ns;
    return entry;
  }

  static bool passed(uint64_t since_ns, uint64_t span_ns, uint64_t now_ns) {
    return now_ns > since_ns && now_ns - since_ns >= span_ns;
  }

  struct Next final : NextConfig {
    explicit Next(const Config& of) : config(of), flows(config.max_flows, 0) { keep.reserve(config.max_flows); }
    Config config;
    FlowSizes flows;
    std::vector<const FlowSizes::Entry*> keep;
  };

  ClassBits bits_;
  Config config_;
  FlowSizes flows_;  // exactly in order of last use
  uint64_t found_ = 0;
  uint64_t expired_ = 0;
  uint64_t evicted_ = 0;
  uint64_t mice_ = 0;
  uint64_t elephant_packets_ = 0;
  uint64_t malformed_ = 0;
  uint64_t non_ip_ = 0;
};

}  // namespace

std::unique_ptr<NfCore> make_elephant_detector(const json& config, std::span<const MetadataField> metadata) {
  return std::make_unique<ElephantDetector>(read_config(config), metadata);
}

}  // namespace orrery
