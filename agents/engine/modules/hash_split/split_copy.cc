// SPDX-License-Identifier: Apache-2.0
#include "modules/hash_split/split_copy.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nfs/ip_prefix.h"
#include "support/clock.h"

namespace orrery {

namespace {

uint64_t flow_idle_ms(uint64_t last_seen_ns, uint64_t now_ns) {
  return (now_ns - std::min(now_ns, last_seen_ns)) / 1'000'000;
}

}  // namespace

SplitCopy::SplitCopy(const SplitRanges& ranges, const FlowKey& key, const FlowSteering* steering,
                     const Splitter& splitter, size_t limit)
    : ranges_(ranges), key_(key), steering_(steering), splitter_(splitter) {
  figures_.gates.reserve(kMaxGates);
  if (steering_ != nullptr) exceptions_.reserve(std::min<size_t>(limit, steering_->limits().capacity));
}

bool SplitCopy::copy(size_t rows) noexcept {
  if (steering_ != nullptr) {
    const auto next = steering_->table().visit_positions(next_, static_cast<uint32_t>(rows), [&](const auto& entry) {
      if (!entry.value.exception) return;
      oldest_ns_ = std::min(oldest_ns_, entry.last_seen_ns);
      newest_ns_ = std::max(newest_ns_, entry.last_seen_ns);
      if (exceptions_.size() < exceptions_.capacity())
        exceptions_.push_back({entry.key, entry.value.gate, entry.last_seen_ns});
    });
    next_ = next.value_or(next_);
    if (next) return true;
  }
  splitter_.read_figures(figures_);
  return false;
}

nlohmann::json SplitCopy::finish(RowForm) {
  const uint64_t now_ns = monotonic_ns();
  nlohmann::json exceptions = nlohmann::json::array();
  for (const Exception& exception : exceptions_) exceptions.push_back(to_json(exception, now_ns));
  nlohmann::json idle = nullptr;
  if (newest_ns_ != 0)
    idle = {{"oldest", flow_idle_ms(oldest_ns_, now_ns)}, {"newest", flow_idle_ms(newest_ns_, now_ns)}};
  return {
      {"ranges", ranges_.to_json()},
      {"split", orrery::to_json(figures_)},
      {"idle_ms", std::move(idle)},
      {"exceptions", std::move(exceptions)},
  };
}

nlohmann::json SplitCopy::to_json(const Exception& exception, uint64_t now_ns) const {
  nlohmann::json flow = nlohmann::json::object();
  if (key_.ip_src) flow["ip.src"] = address_text(exception.flow.src);
  if (key_.ip_dst) flow["ip.dst"] = address_text(exception.flow.dst);
  if (key_.ip_proto) flow["ip.proto"] = exception.flow.proto();
  if (key_.port_src) flow["port.src"] = exception.flow.src_port();
  if (key_.port_dst) flow["port.dst"] = exception.flow.dst_port();
  return {
      {"flow", std::move(flow)}, {"gate", exception.gate}, {"idle_ms", flow_idle_ms(exception.last_seen_ns, now_ns)}};
}

}  // namespace orrery
