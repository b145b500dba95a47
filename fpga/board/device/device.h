// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "board/device/slot.h"
#include "board/sim/fabric.h"

namespace orrery::board {

// Drives the shell as software drives a board: through its registers. All times are board time.
class Device {
 public:
  using Listener = std::function<void(size_t slot)>;  // the slot's state has changed

  Device(size_t slots, uint32_t clock_mhz, Listener listener);

  Fabric& fabric() { return fabric_; }
  const Fabric& fabric() const { return fabric_; }
  size_t slots() const { return slots_.size(); }
  const Slot& slot(size_t n) const { return slots_[n]; }

  // False while the whole device is being configured: nothing runs, links are down.
  bool powered() const { return powered_; }

  // No frame enters the slot any more; returns when all that had entered have left, or when that takes too long.
  void quiesce(size_t n, Policy policy);

  // Cuts the slot off and takes its module out: `kEmpty`, `kLoading` or `kFaulty` stays behind.
  void remove(size_t n, SlotState state, const std::string& error = {});

  // Puts a module in, resets it, opens its registers and verifies its ID; then `kConfiguring`. Throws
  // std::runtime_error, with the slot `kFaulty`.
  void insert(size_t n, const ModuleInfo& module);

  // For frames that come while the slot takes none.
  void set_policy(size_t n, Policy policy) { slots_[n].policy = policy; }

  // Opens the slot for frames.
  void resume(size_t n);

  // Takes away what waits in the slot's host stream, and lets what has entered the slot leave it. Frames of its ports
  // wait meanwhile. False: something did not leave in time.
  bool clear_host(size_t n);

  // Full configuration: all slots are gone until power_on(), which leaves them empty. Frames that wait for a slot are
  // counted as dropped by it.
  void power_off();
  void power_on();

  // The registers of the slot's module can be used.
  bool has_registers(size_t n) const;

  // Reads and writes of a module's registers; nothing and false where it does not answer, which makes it `kFaulty`.
  std::optional<uint32_t> read(size_t n, uint16_t address);
  bool write(size_t n, uint16_t address, uint32_t value);

  // Brings the counters of all slots up to date; at least every 2^32 bytes.
  void update_counters();

  // Looks for slots that hang.
  void supervise();

 private:
  void set_state(size_t n, SlotState state, std::string error = {});
  void control(size_t n, uint32_t bits);
  bool drain(size_t n);
  bool answered(size_t n);

  Fabric fabric_;
  Listener listener_;
  std::vector<Slot> slots_;
  bool powered_ = true;
};

}  // namespace orrery::board
