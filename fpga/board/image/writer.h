// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "board/image/header.h"
#include "board/image/signature.h"

namespace orrery::board {

// Writes a container of header.payload_bytes bytes: a keystream derived from the rest of the header, so equal headers
// have equal payloads. Fills in the digest. The file appears under its name only when it is complete.
void write_image(const std::string& path, ImageHeader header, const PrivateKey& key);

}  // namespace orrery::board
