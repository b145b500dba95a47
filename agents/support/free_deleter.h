// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace orrery {

// Of a unique_ptr to memory of malloc, calloc or aligned_alloc.
struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace orrery
