// SPDX-License-Identifier: Apache-2.0
#include "flows/flow_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "flows/mark.h"

namespace orrery::flows {
namespace {

constexpr double kSecondNs = 1e9;
constexpr double kNever = std::numeric_limits<double>::infinity();
// How often the total rate is looked at while it allows nothing.
constexpr double kLookNs = 10e6;
constexpr double kRefuseAfterNs = kSecondNs;
constexpr uint16_t kFirstPort = 5000;
constexpr uint16_t kSmallest = Mark::kBytes;
// Simple IMIX: 7 of the smallest, 4 of 576 bytes and 1 of 1500 bytes of IP.
constexpr uint16_t kMixMiddle = 590, kMixLargest = 1514;

}  // namespace

FlowSource::FlowSource(const SourceSettings& settings, uint64_t start_ns)
    : settings_(settings),
      start_ns_(start_ns),
      random_(settings.seed),
      size_scale_(settings.mean_bytes > 0 ? settings.mean_bytes / settings.shape.sizes.mean() : 1),
      lifetime_scale_(settings.mean_lifetime_s * kSecondNs /
                      settings.shape.lifetimes.value_or(settings.shape.sizes).mean()),
      flows_(settings.flows_max),
      free_(settings.flows_max) {
  std::iota(free_.begin(), free_.end(), 0);
  plan_arrival(0);
}

void FlowSource::plan_arrival(double after_ns) {
  arrival_ns_ = after_ns - std::log1p(-uniform()) / settings_.flows_per_s * kSecondNs;
}

bool FlowSource::is_live(const Entry& entry) const {
  return flows_[entry.slot].alive && flows_[entry.slot].id == entry.flow;
}

void FlowSource::drop_dead_turns() {
  while (!turns_.empty() && !is_live(turns_.top())) turns_.pop();
  if (turns_.size() <= size_t{2} * in_progress_ + 1024) return;
  std::vector<Entry> live;
  for (; !turns_.empty(); turns_.pop())
    if (is_live(turns_.top())) live.push_back(turns_.top());
  turns_ = Queue({}, std::move(live));
}

double FlowSource::earliest_ns() const {
  const double end_ns = ends_.empty() ? kNever : ends_.top().at_ns;
  const double turn_ns = turns_.empty() ? kNever : settings_.rate ? 0 : turns_.top().at_ns;
  return std::min({end_ns, turn_ns, arrival_ns_});
}

uint64_t FlowSource::next_ns() const {
  const double at_ns = std::max(earliest_ns(), settings_.rate ? allowed_ns_ : 0);
  return at_ns == kNever ? UINT64_MAX : start_ns_ + static_cast<uint64_t>(std::ceil(std::max(at_ns, 0.0)));
}

std::optional<DuePacket> FlowSource::take(uint64_t now_ns) {
  const double now = static_cast<double>(now_ns - start_ns_);
  refuse_stale_arrivals(now);
  drop_dead_turns();
  if (settings_.rate) {
    allowed_ns_ = std::max(allowed_ns_, now - kBehindMaxNs);
    pay(now);
  }
  // Behind a total rate, time goes from packet to packet.
  const double by = settings_.rate ? std::max(allowed_ns_, earliest_ns()) : now;
  if (std::max(by, earliest_ns()) > now || (settings_.rate && owed_bits_ > 0)) return std::nullopt;
  const double end_ns = ends_.empty() ? kNever : ends_.top().at_ns;
  const double turn_ns = turns_.empty() || settings_.rate ? kNever : turns_.top().at_ns;
  DuePacket out;
  if (end_ns <= by && end_ns <= std::min(arrival_ns_, turn_ns)) {
    out = end_first();
  } else if (arrival_ns_ <= by && arrival_ns_ <= turn_ns) {
    out = begin();
  } else {
    out = next_turn(now);
  }
  if (settings_.rate) {
    allowed_ns_ = by;
    out.due_ns = static_cast<uint64_t>(by);
    owed_bits_ += 8.0 * out.frame_bytes;
    pay(now);
  }
  out.due_ns += start_ns_;
  return out;
}

void FlowSource::pay(double now_ns) {
  while (owed_bits_ > 0 && allowed_ns_ <= now_ns) {
    const double rate_bps = settings_.rate->at(allowed_ns_ / kSecondNs);
    const double allowed_bits = rate_bps * kLookNs / kSecondNs;
    if (allowed_bits < owed_bits_) {
      allowed_ns_ += kLookNs;
      owed_bits_ -= allowed_bits;
    } else {
      allowed_ns_ += owed_bits_ / rate_bps * kSecondNs;
      owed_bits_ = 0;
    }
  }
}

void FlowSource::refuse_stale_arrivals(double now_ns) {
  while (arrival_ns_ <= now_ns && (free_.empty() || arrival_ns_ < now_ns - kRefuseAfterNs)) {
    ++counts_.refused;
    plan_arrival(arrival_ns_);
  }
}

DuePacket FlowSource::begin() {
  const double now = arrival_ns_;
  plan_arrival(now);
  const uint32_t slot = free_.front();
  free_.pop_front();
  const double share = uniform();
  const double size = settings_.shape.sizes.quantile(share) * size_scale_;
  const double lifetime_ns =
      settings_.shape.lifetimes.value_or(settings_.shape.sizes).quantile(share) * lifetime_scale_;
  const bool tcp = uniform() < settings_.tcp_share;
  const auto within = [](double bytes, uint16_t most) {
    return static_cast<uint16_t>(std::clamp<double>(bytes, kSmallest, std::max(most, kSmallest)));
  };
  const uint16_t first = tcp ? kSmallest : within(size - kSmallest, draw_payload(tcp));
  const uint16_t last = within(size - first, draw_payload(tcp));
  // Rounded at random, so that sizes are right on average.
  const double between = std::floor(std::max(0.0, size - first - last) / mean_payload(tcp) + uniform());
  Flow& flow = flows_[slot];
  flow = {.id = next_flow_++,
          .sent = 0,
          .interval_ns = lifetime_ns / (between + 1),
          .tcp_sequence = static_cast<uint32_t>(random_()),
          .last_payload = last,
          .tcp = tcp,
          .alive = true};
  ++in_progress_;
  ++counts_.started;
  ends_.push({now + lifetime_ns, slot, flow.id});
  const double turn_ns = (settings_.rate ? virtual_ns_ : now) + flow.interval_ns;
  if (settings_.rate || between > 0) turns_.push({turn_ns, slot, flow.id});
  return packet(now, slot, first, false);
}

DuePacket FlowSource::end_first() {
  const auto [at_ns, slot, id] = ends_.top();
  ends_.pop();
  const DuePacket out = packet(at_ns, slot, flows_[slot].last_payload, true);
  flows_[slot].alive = false;
  free_.push_back(slot);
  --in_progress_;
  ++counts_.ended;
  return out;
}

DuePacket FlowSource::next_turn(double now_ns) {
  const auto [at_ns, slot, id] = turns_.top();
  turns_.pop();
  const Flow& flow = flows_[slot];
  virtual_ns_ = at_ns;
  const double next_ns = (settings_.rate ? at_ns : std::max(at_ns, now_ns - kBehindMaxNs)) + flow.interval_ns;
  turns_.push({next_ns, slot, id});
  return packet(settings_.rate ? 0 : at_ns, slot, draw_payload(flow.tcp), false);
}

DuePacket FlowSource::packet(double due_ns, uint32_t slot, uint16_t payload, bool last) {
  Flow& flow = flows_[slot];
  const uint16_t header_bytes = flow.tcp ? settings_.tcp_header_bytes : settings_.udp_header_bytes;
  const DuePacket out{.due_ns = static_cast<uint64_t>(due_ns),
                      .flow = flow.id,
                      .number = flow.sent,
                      .last = last,
                      .tcp = flow.tcp,
                      .source_port = static_cast<uint16_t>(kFirstPort + slot),
                      .frame_bytes = static_cast<uint16_t>(header_bytes + payload),
                      .tcp_sequence = flow.tcp_sequence};
  // A SYN has a sequence number of its own (RFC 9293 3.4).
  flow.tcp_sequence += payload + (flow.sent == 0 ? 1 : 0);
  ++flow.sent;
  return out;
}

uint16_t FlowSource::draw_payload(bool tcp) {
  const uint16_t header_bytes = tcp ? settings_.tcp_header_bytes : settings_.udp_header_bytes;
  if (!settings_.mix) return settings_.packet_bytes - header_bytes;
  const double twelfth = uniform() * 12;
  if (twelfth < 7) return kSmallest;
  return (twelfth < 11 ? kMixMiddle : kMixLargest) - header_bytes;
}

double FlowSource::mean_payload(bool tcp) const {
  const uint16_t header_bytes = tcp ? settings_.tcp_header_bytes : settings_.udp_header_bytes;
  if (!settings_.mix) return settings_.packet_bytes - header_bytes;
  return (7.0 * kSmallest + 4.0 * (kMixMiddle - header_bytes) + (kMixLargest - header_bytes)) / 12;
}

void FlowSource::finish(uint64_t now_ns, uint64_t most_ns) {
  const double now = static_cast<double>(now_ns - start_ns_);
  const double most = static_cast<double>(most_ns);
  if (finishing_ && finished_ns_ <= now + most) return;
  finishing_ = true;
  const bool paced = settings_.rate.has_value();
  double spread_ns = static_cast<double>(kFinishNs);
  if (paced) {
    const double rate_bps = settings_.rate->at(now / kSecondNs);
    const double bits = shrink_last_packets();
    spread_ns = rate_bps > 0 ? std::clamp(bits / rate_bps * kSecondNs, spread_ns, most) : most;
  }
  settings_.rate.reset();
  arrival_ns_ = kNever;
  turns_ = {};
  const double apart_ns = spread_ns / std::max(1U, in_progress_);
  finished_ns_ = now + spread_ns;
  std::vector<Entry> ends;
  for (double at_ns = now; !ends_.empty(); at_ns += apart_ns, ends_.pop()) {
    Entry end = ends_.top();
    end.at_ns = paced ? at_ns : std::min(end.at_ns, at_ns);
    ends.push_back(end);
  }
  ends_ = Queue({}, std::move(ends));
}

double FlowSource::shrink_last_packets() {
  double bits = 0;
  for (Flow& flow : flows_) {
    if (!flow.alive) continue;
    flow.last_payload = kSmallest;
    bits += 8.0 * (kSmallest + (flow.tcp ? settings_.tcp_header_bytes : settings_.udp_header_bytes));
  }
  return bits;
}

}  // namespace orrery::flows
