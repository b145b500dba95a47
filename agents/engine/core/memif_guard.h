// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace orrery {

// To be held while packets move through a memif port. When a peer leaves, DPDK's control thread unmaps the memory that
// both share without regard to who reads it (DPDK 22.11, drivers/net/memif: memif_disconnect), which would end the
// process; with this it waits. Costs nothing where `memif` is false.
class MemifGuard {
 public:
  explicit MemifGuard(bool memif) : memif_(memif) {
    if (memif) [[unlikely]]
      lock();
  }
  ~MemifGuard() {
    if (memif_) [[unlikely]]
      unlock();
  }
  MemifGuard(const MemifGuard&) = delete;
  MemifGuard& operator=(const MemifGuard&) = delete;

 private:
  static void lock();
  static void unlock();

  bool memif_;
};

}  // namespace orrery
