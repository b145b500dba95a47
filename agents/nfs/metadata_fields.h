// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nfs/nf_core.h"

namespace orrery {

// Reads the bits that an NF's derived attributes have in the metadata word: {attribute: {offset, width, values}}.
// `pointer` leads to `value`. Throws EngineError with `code`.
std::vector<MetadataField> parse_metadata(const nlohmann::json& value, const std::string& pointer,
                                          std::string_view code);

}  // namespace orrery
