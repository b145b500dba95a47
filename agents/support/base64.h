// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery {

// RFC 4648 4, with padding.
std::string base64_encode(std::string_view bytes);

// Nothing for what is not that, line breaks and missing padding included.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace orrery
