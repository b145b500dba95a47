// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "p4/core/control_error.h"
#include "p4/core/entry.h"
#include "p4/program/program.h"

namespace orrery::p4 {

// Words of the arguments as actions read them. Refuses what the action does not take, by the parameter's name.
std::vector<uint64_t> action_words(const Program& program, const ActionCall& call);

}  // namespace orrery::p4
