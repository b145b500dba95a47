// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "flows/mark.h"
#include "support/flow_table.h"
#include "support/histogram.h"

namespace orrery::flows {

struct SinkCounts {
  uint64_t received = 0;  // also duplicates
  uint64_t bytes = 0;     // of frames
  uint64_t reordered = 0;
  uint64_t duplicates = 0;
  uint64_t started = 0;
  uint64_t ended = 0;
  uint64_t with_loss = 0;
  // The most by which two packets in order of one flow arrived further apart than they were sent.
  uint64_t max_gap_ns = 0;
};

// What a sink knows of the flows that it receives. A flow that began before the sink did, in a session that did, is
// counted from the first packet on that came. A duplicate is known among the latest 64 packets of its flow.
class FlowCounts {
 public:
  static constexpr uint32_t kFlowsMax = 131'072;  // known; those that got nothing for longest are forgotten
  static constexpr size_t kSessionsMax = 64;

  explicit FlowCounts(uint32_t flows_max = kFlowsMax);

  void take(const Mark& mark, uint64_t arrived_ns, size_t frame_bytes);

  const SinkCounts& counts() const { return counts_; }
  // Packets missing: those before the latest one of each session, less duplicates that were not known as such.
  uint64_t lost() const;
  // Flows that are known and have not ended.
  uint32_t in_progress() const { return in_progress_; }
  // Whether flows in progress were forgotten for want of room: figures by flow are incomplete from then on.
  bool forgot() const { return forgot_; }
  // What the flow lacks that lacked most when it was seen; nothing while it lacks nothing.
  std::optional<std::string> worst() const;
  // Of the packets since it was last cleared.
  Histogram& latency() { return latency_; }

 private:
  struct Session {
    uint32_t id;
    bool from_start;
    uint64_t first;
    uint64_t next;
    uint64_t accepted;
  };
  struct Key {
    uint32_t session;
    uint32_t flow;
    bool operator==(const Key&) const = default;
  };
  struct Value {
    uint64_t seen;  // of the latest 64, bit 0 the latest
    uint32_t next;
    uint32_t lost;
    uint64_t arrived_ns;
    uint64_t sent_ns;
    bool ended;
  };
  using Table = FlowTable<Key, Value>;

  static uint64_t missing_of(const Session& session);
  Session& session_of(const Mark& mark);
  Value& flow_of(const Mark& mark, const Session& session, uint64_t now_ns);
  // Whether the packet is no duplicate.
  bool place(Value& flow, const Mark& mark, uint64_t arrived_ns);
  void set_lost(Value& flow, const Mark& mark, uint32_t lost);

  Table flows_;
  std::deque<Session> sessions_;  // in the order in which they were heard of last
  uint64_t lost_before_ = 0;      // in sessions that are forgotten
  uint32_t in_progress_ = 0;
  bool forgot_ = false;  // a flow in progress, for want of room
  SinkCounts counts_;
  Histogram latency_;
  struct Worst {
    Key key;
    uint32_t lost;
    uint32_t of;
  };
  Worst worst_{};
};

}  // namespace orrery::flows
