// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "nfs/nf_core.h"

namespace orrery {

// The NF with a reassembly of its own, which runs while the NF reads streams and is then part of its state as
// `bytestream`: for an NF that runs by itself. In the engine, NFs share one.
std::unique_ptr<NfCore> with_bytestream(std::unique_ptr<NfCore> nf);

}  // namespace orrery
