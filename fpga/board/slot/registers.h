// SPDX-License-Identifier: Apache-2.0
// Registers that every slot module has (fpga/README.md).
#pragma once

#include <cstdint>

namespace orrery::board::reg {

inline constexpr int kAckCycles = 64;  // time limit for the answer to a register access

inline constexpr uint16_t kId = 0x000;
inline constexpr uint16_t kVersion = 0x004;
inline constexpr uint16_t kFramesIn = 0x010;
inline constexpr uint16_t kFramesOut = 0x014;
inline constexpr uint16_t kDrops = 0x018;
inline constexpr int kDropRegisters = 4;
inline constexpr uint16_t kEventCount = 0x028;
inline constexpr uint16_t kEventData = 0x02c;
inline constexpr uint16_t kEventLost = 0x030;
inline constexpr int kEventWords = 8;
inline constexpr uint16_t kTableCommand = 0x040;
inline constexpr uint16_t kTableStatus = 0x044;
inline constexpr uint16_t kTableData = 0x060;
inline constexpr int kTableWords = 8;

}  // namespace orrery::board::reg
