// SPDX-License-Identifier: Apache-2.0
#include "flows/sink.h"

#include "flows/closed_port.h"
#include "flows/flow_counts.h"
#include "flows/frame_ring.h"
#include "support/clock.h"

namespace orrery::flows {
namespace {

constexpr uint64_t kReportNs = 1'000'000'000;
constexpr int kLookMs = 50;

// Nothing where nothing was measured.
std::optional<double> percentile_us(const Histogram& histogram, double share) {
  const uint64_t count = histogram.count();
  if (count == 0) return std::nullopt;
  const auto rank = static_cast<uint64_t>(share * static_cast<double>(count - 1));
  uint64_t below = 0;
  for (const auto& [bucket, many] : histogram.sparse()) {
    below += many;
    if (below > rank)
      return static_cast<double>(Histogram::bucket_lower_ns(bucket) + Histogram::bucket_lower_ns(bucket + 1)) / 2e3;
  }
  return std::nullopt;
}

nlohmann::json metrics_of(FlowCounts& flows, uint64_t errors, double bits_per_second) {
  const SinkCounts& counts = flows.counts();
  nlohmann::json metrics = {
      {"received", counts.received},
      {"bytes", counts.bytes},
      {"lost", flows.lost()},
      {"reordered", counts.reordered},
      {"duplicates", counts.duplicates},
      {"flows_started", counts.started},
      {"flows_ended", counts.ended},
      {"flows", flows.in_progress()},
      {"flows_with_loss", counts.with_loss},
      {"max_gap_us", static_cast<double>(counts.max_gap_ns) / 1e3},
      {"errors", errors},
      {"bits_per_second", bits_per_second},
  };
  for (const auto& [name, share] : {std::pair{"latency_p50_us", 0.5}, {"latency_p99_us", 0.99}})
    if (const auto us = percentile_us(flows.latency(), share)) metrics[name] = *us;
  flows.latency().clear();
  return metrics;
}

}  // namespace

void sink(const SinkSettings& settings, const std::atomic<bool>& stop, const Report& report) {
  const ClosedPort quiet(settings.port);
  FrameRing ring(settings.interface, settings.port);
  FlowCounts flows;
  uint64_t foreign = 0, bytes_before = 0;
  uint64_t reported_ns = monotonic_ns();
  const auto tell = [&](uint64_t now_ns) {
    const uint64_t overflow = ring.overflow();
    const double bits = 8.0 * static_cast<double>(flows.counts().bytes - bytes_before);
    const double interval_ns = static_cast<double>(now_ns - reported_ns);
    std::string detail;
    const auto add = [&detail](const std::string& what) { detail += (detail.empty() ? "" : "; ") + what; };
    if (overflow > 0) add(std::to_string(overflow) + " packets arrived and found no room here");
    if (flows.forgot()) add("flows were forgotten for want of room, and figures by flow are incomplete from then on");
    if (const auto worst = flows.worst(); worst && overflow == 0) add(*worst);
    report(metrics_of(flows, foreign + overflow, interval_ns > 0 ? bits * 1e9 / interval_ns : 0), detail);
    bytes_before = flows.counts().bytes;
    reported_ns = now_ns;
  };
  tell(reported_ns);
  while (!stop) {
    ring.receive(kLookMs, [&](const ArrivedPacket& packet) {
      if (const auto mark = Mark::load(packet.payload)) {
        flows.take(*mark, packet.arrived_ns, packet.frame_bytes);
      } else {
        ++foreign;
      }
    });
    const uint64_t now_ns = monotonic_ns();
    if (now_ns - reported_ns >= kReportNs) tell(now_ns);
  }
  tell(monotonic_ns());
}

}  // namespace orrery::flows
