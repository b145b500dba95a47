// SPDX-License-Identifier: Apache-2.0
#include "flows/flow_counts.h"

#include <algorithm>
#include <iterator>

namespace orrery::flows {
namespace {

constexpr uint64_t kGranularityNs = 1'000'000'000;
constexpr uint32_t kSeenBits = 64;

}  // namespace

FlowCounts::FlowCounts(uint32_t flows_max) : flows_(flows_max, kGranularityNs) {}

void FlowCounts::take(const Mark& mark, uint64_t arrived_ns, size_t frame_bytes) {
  ++counts_.received;
  counts_.bytes += frame_bytes;
  Session& session = session_of(mark);
  Value& flow = flow_of(mark, session, arrived_ns);
  if (!place(flow, mark, arrived_ns)) {
    ++counts_.duplicates;
    return;
  }
  session.first = std::min(session.first, mark.sequence);
  session.next = std::max(session.next, mark.sequence + 1);
  ++session.accepted;
  latency_.add(arrived_ns > mark.sent_ns ? arrived_ns - mark.sent_ns : 0);
  if (!mark.last || flow.ended) return;
  flow.ended = true;
  --in_progress_;
  ++counts_.ended;
}

uint64_t FlowCounts::lost() const {
  uint64_t sum = lost_before_;
  for (const Session& each : sessions_) sum += missing_of(each);
  return sum;
}

uint64_t FlowCounts::missing_of(const Session& session) {
  const uint64_t span = session.next - session.first;
  return span > session.accepted ? span - session.accepted : 0;
}

std::optional<std::string> FlowCounts::worst() const {
  if (worst_.lost == 0) return std::nullopt;
  return "flow " + std::to_string(worst_.key.flow) + " lost " + std::to_string(worst_.lost) + " of its first " +
         std::to_string(worst_.of) + " packets";
}

FlowCounts::Session& FlowCounts::session_of(const Mark& mark) {
  const auto found = std::find_if(sessions_.rbegin(), sessions_.rend(),
                                  [&](const Session& session) { return session.id == mark.session; });
  if (found == sessions_.rend()) {
    if (sessions_.size() == kSessionsMax) {
      lost_before_ += missing_of(sessions_.front());
      sessions_.pop_front();
    }
    // What was overtaken by this packet may still come, or be lost.
    const bool from_start = mark.sequence < kSeenBits;
    sessions_.push_back({mark.session, from_start, from_start ? 0 : mark.sequence, mark.sequence, 0});
  } else if (found != sessions_.rbegin()) {
    std::rotate(std::prev(found.base()), found.base(), sessions_.end());
  }
  return sessions_.back();
}

FlowCounts::Value& FlowCounts::flow_of(const Mark& mark, const Session& session, uint64_t now_ns) {
  const Key key{mark.session, mark.flow};
  const uint32_t hash = flows_.hash(key);
  if (Table::Entry* known = flows_.find(key, hash)) {
    flows_.touch(*known, now_ns);
    return known->value;
  }
  if (flows_.full()) {
    Table::Entry& oldest = *flows_.oldest();
    if (!oldest.value.ended) {
      --in_progress_;
      forgot_ = true;
    }
    flows_.erase(oldest);
  }
  // It may be one that was forgotten: then what came before it is not lost.
  const bool is_known_of = forgot_ && mark.number > 0;
  if (!is_known_of) ++counts_.started;
  ++in_progress_;
  Value& flow = flows_.insert(key, hash, now_ns).value;
  flow.next = session.from_start && !is_known_of ? 0 : mark.number;
  return flow;
}

bool FlowCounts::place(Value& flow, const Mark& mark, uint64_t arrived_ns) {
  if (mark.number >= flow.next) {
    const uint32_t missing = mark.number - flow.next;
    const uint32_t shift = missing + 1;
    flow.seen = (shift < kSeenBits ? flow.seen << shift : 0) | 1;
    flow.next = mark.number + 1;
    if (missing > 0) set_lost(flow, mark, flow.lost + missing);
    if (flow.sent_ns != 0) {
      const uint64_t sent_apart = mark.sent_ns - flow.sent_ns;
      const uint64_t apart = arrived_ns - flow.arrived_ns;
      if (arrived_ns > flow.arrived_ns && apart > sent_apart)
        counts_.max_gap_ns = std::max(counts_.max_gap_ns, apart - sent_apart);
    }
    flow.sent_ns = mark.sent_ns;
    flow.arrived_ns = arrived_ns;
    return true;
  }
  const uint32_t behind = flow.next - 1 - mark.number;
  if (behind < kSeenBits) {
    const uint64_t bit = uint64_t{1} << behind;
    if ((flow.seen & bit) != 0) return false;
    flow.seen |= bit;
  }
  ++counts_.reordered;
  if (flow.lost > 0) set_lost(flow, mark, flow.lost - 1);
  return true;
}

void FlowCounts::set_lost(Value& flow, const Mark& mark, uint32_t lost) {
  if (flow.lost == 0 && lost > 0) ++counts_.with_loss;
  if (flow.lost > 0 && lost == 0) --counts_.with_loss;
  flow.lost = lost;
  const Key key{mark.session, mark.flow};
  if (lost >= worst_.lost || key == worst_.key) worst_ = {key, lost, flow.next};
}

}  // namespace orrery::flows
