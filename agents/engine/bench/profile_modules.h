// SPDX-License-Identifier: Apache-2.0
// Modules of the profile: a source that does next to nothing, and a meter.
#pragma once

#include "batch_times.h"
#include "core/module.h"

namespace orrery::bench {

// `full_source`, {"bytes": n}: makes full batches of UDP packets of 1,024 flows, of which only the headers are written,
// and marks them in `times`, which must outlive the kind. {"text": true}: with a payload of text. {"gap_us": n}: a
// batch every so often.
ModuleKind full_source(BatchTimes& times);

// `meter`: passes packets on and marks their batches in `times`, which must outlive the kind.
ModuleKind meter(BatchTimes& times);

}  // namespace orrery::bench
