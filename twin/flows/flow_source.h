// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "flows/distribution.h"
#include "flows/rate_wave.h"

namespace orrery::flows {

struct SourceSettings {
  double flows_per_s = 20;
  FlowShape shape = *flow_shape("benson-2010");
  double mean_bytes = 0;  // 0: that of the shape
  double mean_lifetime_s = 5;
  double tcp_share = 0;
  bool mix = false;                // of packet sizes
  uint16_t packet_bytes = 1400;    // of a frame, where they are no mix
  std::optional<RateWave> rate{};  // in total; nothing: as sizes and lifetimes have it
  uint64_t seed = 1;
  uint32_t flows_max = 50'000;  // at most 60,000, for which there are ports
  // Of a frame, in front of the mark.
  uint16_t udp_header_bytes = 42;
  uint16_t tcp_header_bytes = 54;
};

// One packet that is due.
struct DuePacket {
  uint64_t due_ns;
  uint32_t flow;
  uint32_t number;  // in its flow
  bool last;
  bool tcp;
  uint16_t source_port;  // no other flow in progress has it
  uint16_t frame_bytes;
  uint32_t tcp_sequence;
};

struct SourceCounts {
  uint64_t started = 0;
  uint64_t ended = 0;
  uint64_t refused = 0;  // not begun, since too many were in progress or nothing could be sent for a second
};

// Which packets of which flows are due when, by a clock that its caller reads. Flows arrive as a Poisson process; each
// has at least two packets, its first and its last, one lifetime apart. Without a total rate the packets between them
// are evenly spaced, as size and lifetime say. With one they take turns, by start-time fair queueing, in proportion to
// what their rates would be; the first and last packets of flows go before.
class FlowSource {
 public:
  // Sending that falls behind by more than this leaves packets out instead of catching up.
  static constexpr double kBehindMaxNs = 50e6;
  // Over which the last packets of the flows in progress are spread at the end, at least. Whoever stops the program
  // waits a second.
  static constexpr uint64_t kFinishNs = 600'000'000;

  FlowSource(const SourceSettings& settings, uint64_t start_ns);

  // When the next packet is due; UINT64_MAX: none will be.
  uint64_t next_ns() const;
  // Takes the next packet that is due by now; nothing if none is.
  std::optional<DuePacket> take(uint64_t now_ns);

  // Begins no more flows and ends those in progress. With a total rate their last packets are as small as they can be,
  // and go at that rate where the time allows it. May be called again with less time. Precondition: at least kFinishNs.
  void finish(uint64_t now_ns, uint64_t most_ns = kFinishNs);
  bool finished() const { return finishing_ && in_progress_ == 0; }

  uint32_t in_progress() const { return in_progress_; }
  const SourceCounts& counts() const { return counts_; }

 private:
  struct Flow {
    uint32_t id;
    uint32_t sent;
    double interval_ns;
    uint32_t tcp_sequence;
    uint16_t last_payload;
    bool tcp;
    bool alive;
  };
  struct Entry {
    double at_ns;
    uint32_t slot;
    uint32_t flow;
    bool operator>(const Entry& other) const { return at_ns > other.at_ns; }
  };
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  void plan_arrival(double after_ns);
  bool is_live(const Entry& entry) const;
  void drop_dead_turns();
  // When something can be sent if the total rate does not bind.
  double earliest_ns() const;
  DuePacket begin();
  DuePacket end_first();
  DuePacket next_turn(double now_ns);
  void refuse_stale_arrivals(double now_ns);
  // Lets time pass for what was sent, at the total rate.
  void pay(double now_ns);
  DuePacket packet(double due_ns, uint32_t slot, uint16_t payload, bool last);
  // Of all flows in progress; returns how many bits they are.
  double shrink_last_packets();
  uint16_t draw_payload(bool tcp);
  double mean_payload(bool tcp) const;

  SourceSettings settings_;
  uint64_t start_ns_;  // all other times are since then
  std::mt19937_64 random_;
  double size_scale_;
  double lifetime_scale_;
  std::vector<Flow> flows_;
  std::deque<uint32_t> free_;  // the slot that has been free longest is used next
  uint32_t in_progress_ = 0;
  uint32_t next_flow_ = 0;
  double arrival_ns_ = 0;
  Queue ends_;
  Queue turns_;            // of flows that may have ended meanwhile
  double virtual_ns_ = 0;  // start tag of the packet sent last
  double allowed_ns_ = 0;  // when the total rate allows the next packet, if nothing is owed
  double owed_bits_ = 0;   // of the last packet
  bool finishing_ = false;
  double finished_ns_ = 0;  // when the last packet is due, once it finishes
  SourceCounts counts_;
};

}  // namespace orrery::flows
