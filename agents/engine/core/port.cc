// SPDX-License-Identifier: Apache-2.0
#include "core/port.h"

#include <dirent.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
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

// So many bytes may wait in an interface's queueing discipline: more than the transmit ring holds, because
// net_af_packet leaves frames behind in the ring when the socket's own limit is reached first.
constexpr int kSendBufferBytes = 4 * 1024 * 1024;

std::set<int> packet_sockets() {
  std::set<int> out;
  DIR* dir = opendir("/proc/self/fd");
  if (dir == nullptr) return out;
  while (const dirent* entry = readdir(dir)) {
    const std::string_view name = entry->d_name;
    int fd = 0;
    int domain = 0;
    socklen_t length = sizeof(domain);
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec == std::errc{} &&
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_PACKET)
      out.insert(fd);
  }
  closedir(dir);
  return out;
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
std::string next_device(const char* driver) {
  static unsigned count = 0;
  return driver + std::to_string(count++);
}

}  // namespace

void Port::open(rte_mempool* pool, const std::string& pointer) {
  std::string device, arguments;
  switch (spec_.driver) {
    case PortSpec::Driver::kAfPacket:
      ifindex_ = if_nametoindex(spec_.iface.c_str());
      if (ifindex_ == 0) throw EngineError("port-failed", pointer + "/iface", "there is no interface " + spec_.iface);
      device = next_device("net_af_packet");
      // The interface's rate limits must hold for what the engine sends, so no bypass.
      arguments = "iface=" + spec_.iface + ",qdisc_bypass=0,framecnt=" + std::to_string(kRingFrames);
      break;
    case PortSpec::Driver::kRing:
      device = next_device("net_ring");
      break;
    case PortSpec::Driver::kNull:
      device = next_device("net_null");
      arguments = "size=" + std::to_string(spec_.packet_bytes) + ",copy=" + (spec_.copy ? "1" : "0");
      break;
    case PortSpec::Driver::kPcap:
      device = next_device("net_pcap");
      if (!spec_.rx_file.empty()) {
        if (access(spec_.rx_file.c_str(), R_OK) != 0)
          throw EngineError("port-failed", pointer + "/rx_file", spec_.rx_file + ": " + std::strerror(errno));
        arguments = "rx_pcap=" + spec_.rx_file;
      }
      if (!spec_.tx_file.empty()) arguments += (arguments.empty() ? "tx_pcap=" : ",tx_pcap=") + spec_.tx_file;
      break;
  }

  const std::set<int> sockets_before = packet_sockets();
  const auto fail = [&](const char* what, int error) {
    throw EngineError("port-failed", pointer, std::string(what) + " failed: " + std::strerror(std::abs(error)));
  };
  if (const int error = rte_vdev_init(device.c_str(), arguments.c_str()); error != 0) fail("making the device", error);
  device_ = device;
  if (rte_eth_dev_get_port_by_name(device.c_str(), &id_) != 0) fail("finding the device", ENODEV);
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): DPDK takes zeroes for its defaults.
  const rte_eth_conf conf{};
  if (const int error = rte_eth_dev_configure(id_, 1, 1, &conf); error != 0) fail("configuring the device", error);
  if (const int error = rte_eth_rx_queue_setup(id_, 0, 512, SOCKET_ID_ANY, nullptr, pool); error != 0)
    fail("setting up the receive queue", error);
  if (const int error = rte_eth_tx_queue_setup(id_, 0, 512, SOCKET_ID_ANY, nullptr); error != 0)
    fail("setting up the transmit queue", error);
  if (const int error = rte_eth_dev_start(id_); error != 0) fail("starting the device", error);

  max_frame_bytes_ = kEthernetHeader + kVlanTag + kMaxMtu;
  if (spec_.driver == PortSpec::Driver::kAfPacket) {
    std::set<int> mine = packet_sockets();
    for (int fd : sockets_before) mine.erase(fd);
    if (mine.empty()) fail("finding the device's socket", ENODEV);
    wait_fd_ = *mine.begin();
    tune_af_packet();
  }
}

void Port::tune_af_packet() {
  // Frames on their way to a hop carry a destination address that no interface has.
  packet_mreq all{};
  all.mr_ifindex = static_cast<int>(ifindex_);
  all.mr_type = PACKET_MR_PROMISC;
  setsockopt(wait_fd_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
  setsockopt(wait_fd_, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBufferBytes, sizeof(kSendBufferBytes));
  ifreq mtu{};
  if (interface_request(spec_.iface, SIOCGIFMTU, mtu))
    max_frame_bytes_ = kEthernetHeader + kVlanTag + std::min<uint32_t>(kMaxMtu, static_cast<uint32_t>(mtu.ifr_mtu));
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
}

bool Port::alive() const {
  return spec_.driver != PortSpec::Driver::kAfPacket || if_nametoindex(spec_.iface.c_str()) == ifindex_;
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
    ifreq flags{};
    out.up = alive() && interface_request(spec_.iface, SIOCGIFFLAGS, flags) && (flags.ifr_flags & IFF_UP) != 0 &&
             (flags.ifr_flags & IFF_RUNNING) != 0;
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
