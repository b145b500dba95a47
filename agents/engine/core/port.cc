// SPDX-License-Identifier: Apache-2.0
#include "core/port.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "core/batch.h"
#include "support/errors.h"
#include "support/hop_tag.h"

namespace orrery {

namespace {

// Frames of one Ethernet MTU with a VLAN tag; the receive ring of net_af_packet has room for a little more.
constexpr uint32_t kMaxMtu = 1500;
constexpr uint32_t kVlanTag = 4;

// Of each direction: what may come while the worker waits for its turn on a busy machine (4 MiB of locked memory a
// port).
constexpr uint32_t kRingFrames = 1024;
constexpr uint32_t kRingBits = 10;
static_assert(1u << kRingBits == kRingFrames);

// So many bytes may wait in an interface's queueing discipline: more than the transmit ring holds, because
// net_af_packet leaves frames behind in the ring when the socket's own limit is reached first.
constexpr int kSendBufferBytes = 4 * 1024 * 1024;

std::set<int> sockets_of(int family) {
  std::set<int> out;
  DIR* dir = opendir("/proc/self/fd");
  if (dir == nullptr) return out;
  while (const dirent* entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    int fd = 0;
    int domain = 0;
    socklen_t length = sizeof(domain);
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec == std::errc{} &&
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == family)
      out.insert(fd);
  }
  closedir(dir);
  return out;
}

// DPDK's memif driver leaves the socket open at which a server waits for clients, and its control thread polls the
// descriptor. So that another server can take the name, something that never becomes readable takes the place of the
// socket; to close it would end the process (DPDK 22.11, eal_intr_thread_main).
void silence_memif_listener(const std::string& name) {
  for (const int fd : sockets_of(AF_UNIX)) {
    sockaddr_un address{};
    socklen_t length = sizeof(address);
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || length < sizeof(sa_family_t) + 1 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
      continue;
    // In the abstract namespace names begin with a zero, and what follows may be padded with zeroes.
    std::string_view own(address.sun_path + 1, length - sizeof(sa_family_t) - 1);
    if (address.sun_path[0] == 0 && own.substr(0, own.find('\0')) == name) {
      const int silent = eventfd(0, EFD_CLOEXEC);
      dup3(silent, fd, O_CLOEXEC);
      ::close(silent);
    }
  }
}

bool interface_request(const std::string& iface, unsigned long request, ifreq& result) {
  std::memset(&result, 0, sizeof(result));
  iface.copy(result.ifr_name, IFNAMSIZ - 1);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool ok = ioctl(fd, request, &result) == 0;
  ::close(fd);
  return ok;
}

// Names are never used twice: a device that failed half-way may keep its name for a while.
std::string next_device(PortSpec::Driver driver) {
  static constexpr const char* kNames[] = {"net_af_packet", "net_af_xdp", "net_memif",
                                           "net_ring",      "net_null",   "net_pcap"};
  static unsigned count = 0;
  return kNames[static_cast<size_t>(driver)] + std::to_string(count++);
}

[[noreturn]] void fail(const std::string& pointer, const char* what, int error) {
  throw EngineError("port-failed", pointer, std::string(what) + " failed: " + std::strerror(std::abs(error)));
}

}  // namespace

std::string Port::arguments(const std::string& pointer) {
  if (on_interface()) {
    ifindex_ = if_nametoindex(spec_.iface.c_str());
    if (ifindex_ == 0) throw EngineError("port-failed", pointer + "/iface", "there is no interface " + spec_.iface);
  }
  switch (spec_.driver) {
    case PortSpec::Driver::kAfPacket:
      // The interface's rate limits must hold for what the engine sends, so no bypass.
      return "iface=" + spec_.iface + ",qdisc_bypass=0,framecnt=" + std::to_string(kRingFrames);
    case PortSpec::Driver::kAfXdp:
      // Without a budget an empty poll makes no system call.
      return "iface=" + spec_.iface + ",busy_budget=0";
    case PortSpec::Driver::kMemif:
      return std::string("role=") + (spec_.server ? "server" : "client") + ",id=0,rsize=" + std::to_string(kRingBits) +
             ",socket-abstract=yes,socket=" + spec_.socket;
    case PortSpec::Driver::kRing:
      return {};
    case PortSpec::Driver::kNull:
      return "size=" + std::to_string(spec_.packet_bytes) + ",copy=" + (spec_.copy ? "1" : "0");
    case PortSpec::Driver::kPcap:
      break;
  }
  std::string files;
  if (!spec_.rx_file.empty()) {
    if (access(spec_.rx_file.c_str(), R_OK) != 0)
      throw EngineError("port-failed", pointer + "/rx_file", spec_.rx_file + ": " + std::strerror(errno));
    files = "rx_pcap=" + spec_.rx_file;
  }
  if (!spec_.tx_file.empty()) files += (files.empty() ? "tx_pcap=" : ",tx_pcap=") + spec_.tx_file;
  return files;
}

void Port::make_device(const std::string& arguments, const std::string& pointer) {
  const std::string device = next_device(spec_.driver);
  if (spec_.driver == PortSpec::Driver::kRing) {
    // DPDK's own rings of a device, one for each core of the process, would stay when it goes: it frees only those of
    // configured queues (DPDK 22.11, net_ring).
    ring_.reset(rte_ring_create(device.c_str(), kRingFrames, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
    if (ring_ == nullptr) fail(pointer, "making the ring", rte_errno);
    rte_ring* const ring = ring_.get();
    if (rte_eth_from_rings(device.c_str(), &ring, 1, &ring, 1, 0) < 0) fail(pointer, "making the device", rte_errno);
    device_ = "net_ring_" + device;
  } else {
    if (const int error = rte_vdev_init(device.c_str(), arguments.c_str()); error != 0)
      fail(pointer, "making the device", error);
    device_ = device;
  }
}

void Port::open(rte_mempool* pool, const std::string& pointer) {
  const int family = spec_.driver == PortSpec::Driver::kAfXdp ? AF_XDP : AF_PACKET;
  const std::set<int> sockets_before = sockets_of(family);
  make_device(arguments(pointer), pointer);
  if (rte_eth_dev_get_port_by_name(device_.c_str(), &id_) != 0) fail(pointer, "finding the device", ENODEV);
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): DPDK takes zeroes for its defaults.
  const rte_eth_conf conf{};
  if (const int error = rte_eth_dev_configure(id_, 1, 1, &conf); error != 0)
    fail(pointer, "configuring the device", error);
  if (const int error = rte_eth_rx_queue_setup(id_, 0, 512, SOCKET_ID_ANY, nullptr, pool); error != 0)
    fail(pointer, "setting up the receive queue", error);
  if (const int error = rte_eth_tx_queue_setup(id_, 0, 512, SOCKET_ID_ANY, nullptr); error != 0)
    fail(pointer, "setting up the transmit queue", error);
  if (const int error = rte_eth_dev_start(id_); error != 0) fail(pointer, "starting the device", error);

  max_frame_bytes_ = kEthernetHeader + kVlanTag + kMaxMtu;
  if (!on_interface()) return;
  std::set<int> mine = sockets_of(family);
  for (int fd : sockets_before) mine.erase(fd);
  if (mine.empty()) fail(pointer, "finding the device's socket", ENODEV);
  wait_fd_ = *mine.begin();
  ifreq mtu{};
  if (interface_request(spec_.iface, SIOCGIFMTU, mtu))
    max_frame_bytes_ = kEthernetHeader + kVlanTag + std::min<uint32_t>(kMaxMtu, static_cast<uint32_t>(mtu.ifr_mtu));
  if (spec_.driver == PortSpec::Driver::kAfPacket) {
    tune_af_packet();
  } else {
    rte_eth_promiscuous_enable(id_);
  }
}

void Port::tune_af_packet() {
  // Frames on their way to a hop carry a destination address that no interface has.
  packet_mreq all{};
  all.mr_ifindex = static_cast<int>(ifindex_);
  all.mr_type = PACKET_MR_PROMISC;
  setsockopt(wait_fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
  setsockopt(wait_fd_, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBufferBytes, sizeof(kSendBufferBytes));
}

Port::~Port() {
  if (device_.empty()) return;
  if (id_ != UINT16_MAX) {
    if (spec_.driver == PortSpec::Driver::kRing) {
      Batch left;
      while ((left.count = rte_eth_rx_burst(id_, 0, left.packets, kBatchSize)) != 0)
        rte_pktmbuf_free_bulk(left.packets, left.count);
    }
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
  }
  rte_vdev_uninit(device_.c_str());
  if (spec_.server) silence_memif_listener(spec_.socket);
}

bool Port::alive() const {
  return !on_interface() || if_nametoindex(spec_.iface.c_str()) == ifindex_;
}

PortStats Port::stats() {
  PortStats out;
  rte_eth_stats stats{};
  rte_eth_stats_get(id_, &stats);
  out.up = true;
  if (spec_.driver == PortSpec::Driver::kAfPacket) {
    tpacket_stats kernel{};
    socklen_t length = sizeof(kernel);
    // Reading resets the kernel's counter.
    if (getsockopt(wait_fd_, SOL_PACKET, PACKET_STATISTICS, &kernel, &length) == 0) kernel_drops_ += kernel.tp_drops;
  }
  if (on_interface()) {
    ifreq flags{};
    out.up = alive() && interface_request(spec_.iface, SIOCGIFFLAGS, flags) && (flags.ifr_flags & IFF_UP) != 0 &&
             (flags.ifr_flags & IFF_RUNNING) != 0;
  } else if (spec_.driver == PortSpec::Driver::kMemif) {
    rte_eth_link link{};
    out.up = rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
  }
  out.rx_packets = stats.ipackets;
  out.rx_bytes = stats.ibytes;
  out.rx_dropped = stats.imissed + stats.ierrors + stats.rx_nombuf + kernel_drops_;
  out.tx_packets = stats.opackets;
  out.tx_bytes = stats.obytes;
  out.tx_dropped = stats.oerrors;
  return out;
}

}  // namespace orrery
