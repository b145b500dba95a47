// SPDX-License-Identifier: Apache-2.0
// Registers of the shell (regs/nf_shell.yaml).
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery::board::shell {

inline constexpr uint32_t kDecoupledValue = 0xdeaddead;
inline constexpr size_t kMaxShellSlots = 4;

inline constexpr uint16_t kLink = 0x020;
inline constexpr uint16_t kDrainTimeoutUs = 0x024;
inline constexpr uint32_t kDrainTimeoutDefaultUs = 1000;

// Of slot n: address + n * kSlotStride.
inline constexpr uint16_t kSlotStride = 0x100;
inline constexpr uint16_t kSlotControl = 0x100;
inline constexpr uint32_t kHold = 1, kDecouple = 2, kCsrDecouple = 4, kReset = 8;
inline constexpr int kPolicyShift = 4;
inline constexpr uint16_t kSlotStatus = 0x104;
inline constexpr uint32_t kDrained = 2, kTimedOut = 4, kCsrTimeout = 16;
inline constexpr uint16_t kFramesIn = 0x120;
inline constexpr uint16_t kHopsReturn = 0x150;  // of class 0 in bits 15:0

constexpr uint16_t of_slot(uint16_t address, size_t slot) {
  return static_cast<uint16_t>(address + slot * kSlotStride);
}

}  // namespace orrery::board::shell
