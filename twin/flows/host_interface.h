// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "flows/frame_writer.h"

namespace orrery::flows {

// The ends of frames from an interface of this network namespace, with its MAC address and the address that it has for
// this destination. `gateway_mac` is aa:bb:cc:dd:ee:ff. Throws std::runtime_error.
FrameEnds frame_ends(const std::string& interface, const std::string& destination, const std::string& gateway_mac,
                     uint16_t port);

}  // namespace orrery::flows
