// SPDX-License-Identifier: Apache-2.0
// The static region, rtl/shell/nf_shell.sv, cycle by cycle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "board/slot/abi.h"

namespace orrery::board {

// One beat at a port of the shell and its handshake. Flags are 0 or 1.
struct Beat {
  uint64_t data = 0;
  uint8_t keep = 0;
  uint8_t valid = 0;
  uint8_t last = 0;
  uint8_t error = 0;  // output of the shell: the frame was cut off
  uint8_t ready = 0;
};

enum Side : uint8_t { kNear, kFar, kHost };
inline constexpr size_t kSides = 3;

struct Lane {
  std::array<Beat, kSides> rx;  // into the shell, which drives `ready`
  std::array<Beat, kSides> tx;  // out of the shell; the simulation drives `ready`
  nf_slot_in to_slot{};
  nf_slot_out from_slot{};
};

struct CsrPins {
  uint16_t address = 0;
  uint8_t space = 0;  // 0: the shell's own registers, 1 + n: those of slot n
  uint32_t wdata = 0;
  uint32_t rdata = 0;
  uint8_t write = 0;
  uint8_t read = 0;
  uint8_t ack = 0;
};

struct ShellPins {
  std::vector<Lane> lanes;  // by slot
  CsrPins csr;
  uint8_t rst = 0;
  uint8_t link_up = 0;
};

// Starts in power-on state.
class Shell {
 public:
  virtual ~Shell() = default;

  // One cycle is settle(), which reads all inputs and drives the outputs to ports and CSR, then edge(), after which
  // to_slot is valid for the next cycle.
  virtual void settle(ShellPins& pins) = 0;
  virtual void edge(ShellPins& pins) = 0;
};

}  // namespace orrery::board
