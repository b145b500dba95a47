// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch_times.h"
#include "core/module.h"

namespace orrery::bench {

// `segment_source`, {"bytes": n, "payload": "text" | "request"}: makes full batches of TCP segments of 1,024
// connections to port 80, in order, and marks them in `times`, which must outlive the kind. With "request" each segment
// is an HTTP request of its own.
ModuleKind segment_source(BatchTimes& times);

}  // namespace orrery::bench
