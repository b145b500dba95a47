// SPDX-License-Identifier: Apache-2.0
#include "board/device/device.h"

#include <stdexcept>

#include "board/sim/shell_registers.h"
#include "board/slot/registers.h"

namespace orrery::board {
namespace {

using namespace shell;

constexpr uint32_t kCutOff = kHold | kDecouple | kCsrDecouple | kReset;
constexpr uint64_t kResetCycles = 16;
// Longer than any module takes for one frame.
constexpr uint64_t kHangCycles = 65'536;
// Time for a frame that has left a slot to leave the shell, and for a frame that is being dropped to end.
constexpr uint64_t kLeaveCycles = 320;

}  // namespace

Device::Device(size_t slots, uint32_t clock_mhz, Listener listener)
    : simulation_(slots, clock_mhz), listener_(std::move(listener)), slots_(slots) {
  power_on();
}

void Device::set_state(size_t n, SlotState state, std::string error) {
  Slot& slot = slots_[n];
  if (slot.state == state && slot.error == error) return;
  slot.state = state;
  slot.error = std::move(error);
  listener_(n);
}

void Device::control(size_t n, uint32_t bits) {
  simulation_.write({}, of_slot(kSlotControl, n), bits | static_cast<uint32_t>(slots_[n].policy) << kPolicyShift);
}

void Device::quiesce(size_t n, Policy policy) {
  slots_[n].policy = policy;
  if (slots_[n].state != SlotState::kActive) {
    control(n, has_registers(n) ? kHold | kDecouple : kCutOff);
    return;
  }
  set_state(n, SlotState::kQuiescing);
  drain(n);
}

// Holds the slot; returns whether everything that had entered has left it.
bool Device::drain(size_t n) {
  control(n, kHold);
  // After DRAIN_TIMEOUT_US at the latest, the shell sets one of the two.
  for (;;) {
    const uint32_t status = simulation_.read({}, of_slot(kSlotStatus, n));
    if ((status & (kDrained | kTimedOut)) != 0) return (status & kDrained) != 0;
  }
}

bool Device::clear_host(size_t n) {
  Simulation::Queue& host = simulation_.queue(n, kHost);
  simulation_.withdraw(n, kHost);
  const auto run = [&](uint64_t cycles, auto until) {
    for (uint64_t i = 0; i < cycles && !until(); ++i) {
      simulation_.step();
      host.out.pop(host.out.size());
    }
  };
  run(kHangCycles, [&] { return host.in.empty(); });
  bool clear = host.in.empty();
  if (slots_[n].state == SlotState::kActive) {
    slots_[n].policy = Policy::kHold;
    clear &= drain(n);
    run(kLeaveCycles, [] { return false; });
    control(n, 0);
  }
  return clear;
}

void Device::remove(size_t n, SlotState state, const std::string& error) {
  if (powered_) {
    update_counters();
    control(n, kCutOff);
  }
  simulation_.place(n).clear();
  simulation_.place(n).set_stuck(false);
  slots_[n].module.reset();
  set_state(n, state, error);
}

void Device::insert(size_t n, const ModuleInfo& info) {
  control(n, kCutOff);
  try {
    auto module = std::make_unique<Module>(info.path);
    if (module->uuid() != info.uuid) throw std::runtime_error("the file in the library has changed: " + info.name);
    simulation_.place(n).insert(std::move(module));
    slots_[n].module = info;
    for (uint64_t i = 0; i < kResetCycles; ++i) simulation_.step();
    control(n, kHold | kDecouple | kCsrDecouple);
    control(n, kHold | kDecouple);
    if (simulation_.read(n, reg::kId) != info.id)
      throw std::runtime_error("the slot does not answer with the ID of " + info.name);
  } catch (const std::runtime_error& error) {
    remove(n, SlotState::kFaulty, error.what());
    throw;
  }
  set_state(n, SlotState::kConfiguring);
}

void Device::resume(size_t n) {
  // A frame that is being dropped or bypassed ends, and counts, before others enter.
  slots_[n].policy = Policy::kHold;
  control(n, kHold);
  for (uint64_t i = 0; i < kLeaveCycles; ++i) simulation_.step();
  control(n, 0);
  set_state(n, SlotState::kActive);
}

void Device::power_off() {
  for (size_t n = 0; n < slots_.size(); ++n) {
    slots_[n].policy = Policy::kDrop;
    control(n, kCutOff);
  }
  for (size_t n = 0; n < slots_.size(); ++n)
    for (const Side side : {kNear, kFar, kHost}) {
      const Simulation::Withdrawn waited = simulation_.withdraw(n, side);
      slots_[n].counters.value[SlotCounters::kFramesDropped] += waited.frames;
      slots_[n].counters.value[SlotCounters::kBytesDropped] += waited.bytes;
    }
  simulation_.run(kLeaveCycles);
  update_counters();
  powered_ = false;
}

void Device::power_on() {
  powered_ = true;
  simulation_.reset();
  for (size_t n = 0; n < slots_.size(); ++n) {
    slots_[n].last = {};
    slots_[n].policy = Policy::kDrop;
    simulation_.place(n).clear();
    slots_[n].module.reset();
    control(n, kCutOff);
  }
}

bool Device::has_registers(size_t n) const {
  const SlotState state = slots_[n].state;
  return powered_ &&
         (state == SlotState::kQuiescing || state == SlotState::kConfiguring || state == SlotState::kActive);
}

bool Device::answered(size_t n) {
  if (!simulation_.last_access_was_long() || (simulation_.read({}, of_slot(kSlotStatus, n)) & kCsrTimeout) == 0)
    return true;
  slots_[n].policy = Policy::kDrop;
  remove(n, SlotState::kFaulty, "the slot did not answer a register access");
  return false;
}

std::optional<uint32_t> Device::read(size_t n, uint16_t address) {
  const uint32_t value = simulation_.read(n, address);
  return answered(n) ? std::optional(value) : std::nullopt;
}

bool Device::write(size_t n, uint16_t address, uint32_t value) {
  simulation_.write(n, address, value);
  return answered(n);
}

void Device::update_counters() {
  if (!powered_) return;
  for (size_t n = 0; n < slots_.size(); ++n) {
    for (size_t i = 0; i < SlotCounters::kCount; ++i) {
      const uint32_t value = simulation_.read({}, static_cast<uint16_t>(of_slot(kFramesIn, n) + 4 * i));
      slots_[n].counters.value[i] += value - slots_[n].last[i];
      slots_[n].last[i] = value;
    }
  }
}

void Device::supervise() {
  for (size_t n = 0; n < slots_.size(); ++n) {
    if (slots_[n].state != SlotState::kActive || simulation_.refused_cycles(n) < kHangCycles) continue;
    slots_[n].policy = Policy::kDrop;
    remove(n, SlotState::kFaulty, "the slot no longer accepts frames");
  }
}

}  // namespace orrery::board
