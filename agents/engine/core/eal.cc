// SPDX-License-Identifier: Apache-2.0
#include "core/eal.h"

#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "core/packet_meta.h"

namespace orrery {

namespace {

constexpr uint32_t kPoolCache = 256;

uint64_t meminfo(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t value = 0;
  for (std::string rest; file >> name >> value; std::getline(file, rest))
    if (name == field + ":") return value;
  return 0;
}

bool enough_hugepages(uint32_t memory_mb) {
  return meminfo("HugePages_Free") * meminfo("Hugepagesize") / 1024 >= memory_mb;
}

std::string allowed_cpus(const cpu_set_t& set) {
  std::string out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) out += (out.empty() ? "" : ",") + std::to_string(cpu);
  return out;
}

// Three quarters of the memory are packets; a pool is smallest for its size when it holds a power of two less one.
uint32_t packets_for(uint32_t memory_mb) {
  constexpr uint64_t kPacketBytes = RTE_MBUF_DEFAULT_BUF_SIZE + sizeof(rte_mbuf) + kPacketMetaRoom + 64;
  const uint64_t fitting = uint64_t{memory_mb} * 1024 * 1024 / 4 * 3 / kPacketBytes;
  return static_cast<uint32_t>(std::bit_floor(fitting) - 1);
}

// As rte_pktmbuf_pool_create makes it, but without room lost at the ends of pages: no device does DMA here.
rte_mempool* make_pool(uint32_t packets) {
  rte_mempool* pool = rte_mempool_create_empty(
      "packets", packets, sizeof(rte_mbuf) + kPacketMetaRoom + RTE_MBUF_DEFAULT_BUF_SIZE, kPoolCache,
      sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private settings{};
  settings.mbuf_data_room_size = RTE_MBUF_DEFAULT_BUF_SIZE;
  settings.mbuf_priv_size = kPacketMetaRoom;
  rte_pktmbuf_pool_init(pool, &settings);
  if (rte_mempool_set_ops_byname(pool, "ring_mp_mc", nullptr) != 0 || rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

}  // namespace

Eal::Eal(const EalOptions& options)
    : hugepages_(options.memory == Memory::kHugepages ||
                 (options.memory == Memory::kAuto && enough_hugepages(options.memory_mb))) {
  cpu_set_t cpus;
  pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus);
  std::vector<std::string> arguments = {"orrery-engine", "--no-pci", "--no-telemetry", "--no-shconf", "--log-level=4",
                                        "--iova-mode=va", "-m", std::to_string(options.memory_mb),
                                        // One lcore, this thread; workers are threads of our own.
                                        "--lcores=0@(" + allowed_cpus(cpus) + ")"};
  arguments.emplace_back(hugepages_ ? "--in-memory" : "--no-huge");
  std::vector<char*> argv;
  argv.reserve(arguments.size());
  for (std::string& argument : arguments) argv.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    const std::string what = std::string("DPDK did not start: ") + rte_strerror(rte_errno);
    if (hugepages_) throw NoHugepages(what);
    throw std::runtime_error(what);
  }
  pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
  pool_ = make_pool(packets_for(options.memory_mb));
  if (pool_ == nullptr) throw std::runtime_error(std::string("no memory for packets: ") + rte_strerror(rte_errno));
}

Eal::~Eal() {
  rte_mempool_free(pool_);
  rte_eal_cleanup();
}

}  // namespace orrery
