// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace orrery {

enum class Memory : uint8_t { kAuto, kHugepages, kNoHuge };

struct EalOptions {
  Memory memory = Memory::kAuto;
  uint32_t memory_mb = 64;
};

constexpr uint32_t kMinMemoryMb = 32;
constexpr uint32_t kMaxMemoryMb = 65536;

// DPDK did not start with hugepages.
class NoHugepages : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// DPDK's environment and the one packet pool; at most one in the life of a process. It shares nothing with other
// processes (no runtime directory, no telemetry socket, no files in hugetlbfs), so any number may run side by side.
class Eal {
 public:
  // kAuto takes hugepages when enough are free. Throws NoHugepages, std::runtime_error; the process must then end.
  explicit Eal(const EalOptions& options);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  bool hugepages() const { return hugepages_; }
  rte_mempool* pool() const { return pool_; }

 private:
  bool hugepages_;
  rte_mempool* pool_;
};

}  // namespace orrery
