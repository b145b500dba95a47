// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "board/device/slot.h"
#include "board/sim/simulation.h"

namespace orrery::board {

// Controls the shell as software controls a real board: through its registers. All times are board time.
class Device {
 public:
  using Listener = std::function<void(size_t slot)>;  // called when the slot's state has changed

  Device(size_t slots, uint32_t clock_mhz, Listener listener);

  Simulation& simulation() { return simulation_; }
  const Simulation& simulation() const { return simulation_; }
  size_t slots() const { return slots_.size(); }
  const Slot& slot(size_t n) const { return slots_[n]; }

  // False while the whole device is being configured: nothing runs, links are down.
  bool powered() const { return powered_; }

  // Stops frames from entering the slot; returns once everything that had entered has left, or on timeout.
  void quiesce(size_t n, Policy policy);

  // Decouples the slot and removes its module, leaving it in `kEmpty`, `kLoading` or `kFaulty`.
  void remove(size_t n, SlotState state, const std::string& error = {});

  // Inserts a module, resets it, connects its registers and verifies its ID; then the slot is `kConfiguring`. Throws
  // std::runtime_error, with the slot `kFaulty`.
  void insert(size_t n, const ModuleInfo& module);

  // For frames that arrive while the slot accepts none.
  void set_policy(size_t n, Policy policy) { slots_[n].policy = policy; }

  // Opens the slot for frames.
  void resume(size_t n);

  // Discards what waits in the slot's host stream, and drains the slot. Frames of its ports wait in the meantime.
  // False: the slot did not drain in time.
  bool clear_host(size_t n);

  // Full configuration: all slots are gone until power_on(), which leaves them empty. Frames that wait for a slot count
  // as dropped by it.
  void power_off();
  void power_on();

  // Whether the registers of the slot's module are accessible.
  bool has_registers(size_t n) const;

  // Reads and writes of a module's registers; nullopt and false if it does not answer, which makes it `kFaulty`.
  std::optional<uint32_t> read(size_t n, uint16_t address);
  bool write(size_t n, uint16_t address, uint32_t value);

  // Updates the counters of all slots; call it at least every 2^32 bytes.
  void update_counters();

  // Detects slots that hang.
  void supervise();

 private:
  void set_state(size_t n, SlotState state, std::string error = {});
  void control(size_t n, uint32_t bits);
  bool drain(size_t n);
  bool answered(size_t n);

  Simulation simulation_;
  Listener listener_;
  std::vector<Slot> slots_;
  bool powered_ = true;
};

}  // namespace orrery::board
