// SPDX-License-Identifier: Apache-2.0
// Modules that do what no shipped module does yet: make packets, keep them over passes, run by a timer, join many
// inputs.
#pragma once

#include "core/module.h"

namespace orrery::testing {

// {"copies": n}: emits each packet and n copies of it out of gate 0.
extern const ModuleKind kDuplicator;

// {"hold_ms": t}: keeps packets until t after the first of them came, then emits them all.
extern const ModuleKind kHolder;

// Three inputs; emits what came in at input 2 first, then input 1, then input 0, once each of them has brought a
// packet.
extern const ModuleKind kJoiner;

}  // namespace orrery::testing
