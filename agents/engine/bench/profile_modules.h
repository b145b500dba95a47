// SPDX-License-Identifier: Apache-2.0
// Modules of the profile: a source that does next to nothing, and the parallel forms that no shipped module carries out
// yet.
#pragma once

#include "batch_times.h"
#include "core/module.h"

namespace orrery::bench {

// Copies that a mirror makes of each packet for a step of two branches: P_A and P_B beside P_O (HydraNF 6.4).
constexpr uint8_t kCopies = 2;

// `full_source`, {"bytes": n}: makes full batches of UDP packets of 1,024 flows, of which only the headers are written,
// and marks them in `times`, which must outlive the kind. {"text": true}: with a payload of text. {"gap_us": n}: a
// batch every so often.
ModuleKind full_source(BatchTimes& times);

// `meter`: passes packets on and marks their batches in `times`, which must outlive the kind.
ModuleKind meter(BatchTimes& times);

// Emits each packet out of gate 0 and a copy of it out of each of the gates 1 to kCopies.
extern const ModuleKind kMirror;

// Inputs 0 to kCopies, which bring as many packets each in the same pass and order; emits P_O xor P_A xor P_B.
extern const ModuleKind kMerge;

}  // namespace orrery::bench
