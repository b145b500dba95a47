// SPDX-License-Identifier: Apache-2.0
#include "core/memif_guard.h"

#include <mutex>
#include <shared_mutex>

struct rte_eth_dev;

namespace {

// Workers share it; DPDK's control thread has it alone while it changes what is mapped.
std::shared_mutex g_mapped;

}  // namespace

// The linker puts these in front of DPDK's own (--wrap in meson.build).
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {
int __real_memif_connect(rte_eth_dev* dev);
void __real_memif_free_regions(rte_eth_dev* dev);

int __wrap_memif_connect(rte_eth_dev* dev) {
  const std::lock_guard alone(g_mapped);
  return __real_memif_connect(dev);
}

void __wrap_memif_free_regions(rte_eth_dev* dev) {
  const std::lock_guard alone(g_mapped);
  __real_memif_free_regions(dev);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace orrery {

void MemifGuard::lock() {
  g_mapped.lock_shared();
}

void MemifGuard::unlock() {
  g_mapped.unlock_shared();
}

}  // namespace orrery
