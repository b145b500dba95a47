// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "board/io/frame_ring.h"
#include "board/sim/shell.h"
#include "board/sim/slot_place.h"

namespace orrery::board {

// Simulates the device: shell and slots under one clock, with queues of frames in place of Ethernet MACs and DMA
// engine.
class Simulation {
 public:
  // Frames into and out of the shell. A full `out` stalls the shell.
  struct Queue {
    FrameRing in;
    FrameRing out;
    size_t in_at = 0;  // bytes already sent of the frame at the head of `in`
    bool out_in_frame = false;
    uint64_t out_cycle = 0;   // when the last frame came out
    uint64_t out_errors = 0;  // frames cut off by the shell
  };

  Simulation(size_t slots, uint32_t clock_mhz);

  size_t slots() const { return pins_.lanes.size(); }
  SlotPlace& place(size_t slot) { return places_[slot]; }
  Queue& queue(size_t slot, Side side) { return queues_[slot][side]; }

  uint64_t cycles() const { return cycles_; }              // in board time
  uint64_t cycles_run() const { return cycles_run_; }      // simulated one by one
  uint64_t cycles_moved() const { return cycles_moved_; }  // in which a frame moved or a module worked
  uint64_t board_ns() const { return cycles_ * 1000 / clock_mhz_; }

  // Power-on: shell and slots in reset, no frame waits to enter. Frames that had already left by an Ethernet port are
  // still sent.
  void reset();

  struct Withdrawn {
    uint64_t frames = 0;
    uint64_t bytes = 0;
  };
  // Discards the frames waiting to enter a slot; a frame that has begun to enter stays.
  Withdrawn withdraw(size_t slot, Side side);

  // Runs until nothing moves any more, at most `limit` cycles. False: it stopped at the limit.
  bool run(uint64_t limit);

  // Advances board time while nothing moves: timed modules get their ticks, and the work that a tick starts is
  // simulated.
  void pass_ns(uint64_t ns);

  // One register access through the shell; `slot`: none for the shell's own registers.
  uint32_t read(std::optional<size_t> slot, uint16_t address);
  void write(std::optional<size_t> slot, uint16_t address, uint32_t value);
  // Whether the last access took as long as one that a slot does not answer.
  bool last_access_was_long() const { return last_access_cycles_ >= kLongAccessCycles; }

  // One cycle.
  void step();

  // Cycles for which the slot has refused the same beat although its own output is not blocked.
  uint64_t refused_cycles(size_t slot) const { return refused_[slot]; }

 private:
  static constexpr uint64_t kQuietCycles = 128;
  // A module that processes bytes one by one may hold a frame this long without activity at its ports.
  static constexpr uint64_t kQuietCyclesWithFrames = 4096;
  static constexpr int kAccessCycles = 256;  // more than any access takes
  static constexpr int kLongAccessCycles = 64;

  bool observe(size_t slot);
  uint32_t access(std::optional<size_t> slot, uint16_t address);
  uint64_t replay_ticks(uint64_t ticks);
  bool tick(const std::vector<size_t>& timed);

  std::unique_ptr<Shell> shell_;
  std::vector<SlotPlace> places_;
  std::vector<std::array<Queue, kSides>> queues_;
  ShellPins pins_;
  uint32_t clock_mhz_;
  uint64_t cycles_ = 0;
  uint64_t cycles_run_ = 0;
  uint64_t cycles_moved_ = 0;
  uint64_t ns_left_ = 0;  // elapsed time not yet simulated, less than a microsecond
  uint64_t quiet_ = 0;
  int last_access_cycles_ = 0;
  std::vector<int64_t> inside_;  // frames in each slot, counted at its ports
  std::vector<uint64_t> refused_;
};

}  // namespace orrery::board
