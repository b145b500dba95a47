// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery::flows {

// Lengths of headers without options.
inline constexpr size_t kEthernetBytes = 14, kIpv4Bytes = 20, kIpv6Bytes = 40, kUdpBytes = 8, kTcpBytes = 20;
// Protocol numbers.
inline constexpr uint8_t kTcp = 6, kUdp = 17;

}  // namespace orrery::flows
