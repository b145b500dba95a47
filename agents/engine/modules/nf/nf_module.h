// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/module.h"

namespace orrery {

// A module kind for each NF of nfs/registry.h.
std::span<const ModuleKind> nf_module_kinds();

}  // namespace orrery
