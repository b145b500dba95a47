// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace orrery::bench {

// The NFs that are measured. Every packet does the work that most packets do: no rule decides early.
const std::vector<const char*>& loaded_nfs();

// A chain of four of them, which does not look into payloads.
const std::vector<const char*>& four_nfs();

// Configuration of such an NF for flows from 198.18.0.0/16 to 198.19.0.1.
nlohmann::json load_of(std::string_view nf);

}  // namespace orrery::bench
