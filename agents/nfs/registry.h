// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "nfs/nf_core.h"

namespace orrery {

// Factory of an NF by the id of its descriptor; nullptr when there is none.
NfFactory find_nf(std::string_view kind);

// Ids of all NFs, in the order of registration.
std::span<const std::string_view> nf_kinds();

}  // namespace orrery
