// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/memif_guard.h"

namespace orrery {

// EnginePort of the contract.
struct PortSpec {
  enum class Driver : uint8_t { kAfPacket, kAfXdp, kMemif, kRing, kNull, kPcap };

  std::string name;
  Driver driver = Driver::kNull;
  std::string iface;             // af_packet, af_xdp
  std::string socket;            // memif: name in the abstract namespace
  bool server = false;           // memif
  bool copy = false;             // null
  uint16_t packet_bytes = 60;    // null
  std::string rx_file, tx_file;  // pcap; empty: none

  bool operator==(const PortSpec&) const = default;
};

struct PortStats {
  bool up = false;
  uint64_t rx_packets = 0, rx_bytes = 0, rx_dropped = 0;
  uint64_t tx_packets = 0, tx_bytes = 0, tx_dropped = 0;
};

// A DPDK ethdev that exists as long as this object does, with one receive and one transmit queue.
class Port {
 public:
  explicit Port(PortSpec spec) : spec_(std::move(spec)) {}
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Throws EngineError `port-failed` with `pointer`.
  void open(rte_mempool* pool, const std::string& pointer);

  const PortSpec& spec() const { return spec_; }

  // At most `most` packets; returns how many.
  uint16_t receive(rte_mbuf** packets, uint16_t most) {
    const MemifGuard guard(spec_.driver == PortSpec::Driver::kMemif);
    return rte_eth_rx_burst(id_, 0, packets, most);
  }

  // Returns how many of the packets were taken, from the first on.
  uint16_t send(rte_mbuf** packets, uint16_t count) {
    const MemifGuard guard(spec_.driver == PortSpec::Driver::kMemif);
    return rte_eth_tx_burst(id_, 0, packets, count);
  }

  // Whether the buffers themselves are sent, so that they must not be shared: a ring's receiver gets and may write
  // them, and an XDP socket finds bytes by the place of their buffer.
  bool sends_buffers() const {
    return spec_.driver == PortSpec::Driver::kRing || spec_.driver == PortSpec::Driver::kAfXdp;
  }

  // Whether the device behind it is still there (a deleted interface is not, even when it was made again).
  bool alive() const;

  // Becomes readable when a frame has come; -1 when the port can only be polled.
  int wait_fd() const { return wait_fd_; }

  // Whether frames can come at any time without wait_fd() telling.
  bool must_poll() const {
    return spec_.driver == PortSpec::Driver::kRing || spec_.driver == PortSpec::Driver::kNull ||
           spec_.driver == PortSpec::Driver::kMemif;
  }

  // Longest frame that the port carries; longer ones were cut on receipt and cannot be sent.
  uint32_t max_frame_bytes() const { return max_frame_bytes_; }

  PortStats stats();

 private:
  bool on_interface() const {
    return spec_.driver == PortSpec::Driver::kAfPacket || spec_.driver == PortSpec::Driver::kAfXdp;
  }
  std::string arguments(const std::string& pointer);
  void make_device(const std::string& arguments, const std::string& pointer);
  void tune_af_packet();

  PortSpec spec_;
  std::string device_;  // name of the vdev; empty while closed
  struct FreeRing {
    void operator()(rte_ring* ring) const { rte_ring_free(ring); }
  };
  std::unique_ptr<rte_ring, FreeRing> ring_;  // of the driver `ring`
  uint16_t id_ = UINT16_MAX;
  int wait_fd_ = -1;
  unsigned ifindex_ = 0;
  uint32_t max_frame_bytes_ = 0;
  uint64_t kernel_drops_ = 0;
};

}  // namespace orrery
