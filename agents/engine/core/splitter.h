// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nfs/nf_core.h"
#include "support/json_fields.h"

namespace orrery {

// Where a gate of the module in the old graph is in the new one, by gate: the gate that leads to the same input of the
// module of the same name, or kGateGone.
using GateMap = std::vector<uint16_t>;
constexpr uint16_t kGateGone = UINT16_MAX;
constexpr size_t kMaxGates = 256;

struct SplitGate {
  uint64_t packets = 0;
  uint32_t flows = 0;       // tracked and active
  uint32_t exceptions = 0;  // of these, those that the ranges would send elsewhere
};

// What a splitter did, since it was made, and does (contract: SplitStats).
struct SplitFigures {
  bool tracks = false;
  uint32_t flows = 0;
  uint32_t exceptions = 0;
  uint64_t exception_packets = 0;
  uint64_t untracked = 0;  // packets of flows that the table had no room for
  uint64_t displaced = 0;  // flows that could not stay, because their gate is gone or the table became smaller
  std::vector<SplitGate> gates;
};

nlohmann::json to_json(const SplitFigures& figures);

// Ranges that were checked beside those in force.
class SplitChange {
 public:
  virtual ~SplitChange() = default;
};

// Flows of which packets are to wait, checked and with room made.
class SplitHold {
 public:
  virtual ~SplitHold() = default;

  // The gate that they will go to.
  virtual uint8_t to() const = 0;
};

// What became of them.
struct HoldFigures {
  uint64_t flows = 0;       // that were steered to their new gate
  uint64_t packets = 0;     // that waited
  bool table_full = false;  // there may be flows that are not tracked, which follow the ranges
};

// A module that spreads flows over its gates by ranges of H(f) and can keep flows in progress where they are when the
// ranges change (E2 3.4.4).
class Splitter {
 public:
  virtual ~Splitter() = default;

  // Checks new ranges, which must cover the whole space. `keep_flows`: flows in progress stay at their gates, as
  // exceptions. Reads nothing that a worker writes. Throws EngineError `invalid-config`.
  virtual std::unique_ptr<SplitChange> prepare(const nlohmann::json& ranges, bool keep_flows) const = 0;

  // Puts in force what `prepare` made; what was in force is left in `change`. Precondition: workers parked, settled.
  virtual void take(SplitChange& change) noexcept = 0;

  // Goes through at most `rows` more flows, so that the figures are those of the ranges in force; false: through all.
  // Packets find their gates without it. Precondition: workers parked. Allocates nothing.
  virtual bool settle(size_t rows) noexcept = 0;

  // Forgets a few flows that have been idle too long, which otherwise only packets do. Precondition: workers parked.
  virtual void expire(uint64_t now_ns) noexcept = 0;

  // Flows move from a gate to another (HYPER III-A): their packets wait while what the NF behind the gate knows of them
  // is copied. `prepare_hold` reads the gates, the flows and the longest wait; it reads nothing that a worker writes
  // and throws EngineError. `hold`: from now on they wait; false: others do, and nothing has changed. What was there is
  // left in `hold`. Precondition: workers parked, settled.
  virtual std::unique_ptr<SplitHold> prepare_hold(JsonFields& params) const = 0;
  virtual bool hold(std::unique_ptr<SplitHold>& hold, uint64_t now_ns) noexcept = 0;

  // Packets wait no longer. steer: the flows go to their new gate from now on; otherwise they stay. Returns why they
  // cannot be steered any more, in words; null: they can. Precondition: workers parked.
  virtual const char* end_hold(bool steer) noexcept = 0;

  // Goes through at most `rows` more flows after that; false: through all. Packets find their new gates without it.
  // Precondition: workers parked.
  virtual bool steer_held(size_t rows, HoldFigures& out) noexcept = 0;

  // Into empty figures; with room for kMaxGates gates nothing is allocated. Precondition: workers parked.
  virtual void read_figures(SplitFigures& out) const = 0;

  // Ranges, figures and at most `limit` exceptions (contract: SplitState).
  virtual std::unique_ptr<StateCopy> copy_split(size_t limit) const = 0;
};

}  // namespace orrery
