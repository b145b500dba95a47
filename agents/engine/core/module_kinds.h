// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/module.h"

namespace orrery {

// The kind of that name, plumbing or NF; nullptr when there is none.
const ModuleKind* find_module_kind(std::string_view name);

bool is_nf(const ModuleKind& kind);

// Kinds that are no NFs.
std::vector<std::string_view> plumbing_kind_names();

// All kinds, plumbing first.
std::vector<std::string_view> module_kind_names();

}  // namespace orrery
