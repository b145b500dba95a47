// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "container-nf/packet_port.h"
#include "nfs/nf_core.h"
#include "support/cross_thread_call.h"
#include "support/link_watch.h"

namespace orrery::container_nf {

// Of one direction: in where it begins, out where it ends.
struct DirectionCounters {
  uint64_t packets_in = 0;
  uint64_t bytes_in = 0;
  uint64_t packets_out = 0;
  uint64_t bytes_out = 0;
};

// Takes frames from two interfaces through an NF. A frame carries a hop tag (support/hop_tag.h): the NF gets its
// metadata word, and the frame leaves with the addresses it came with and the metadata that the NF left.
class FramePump {
 public:
  // Throws std::runtime_error where an interface cannot be used.
  FramePump(std::unique_ptr<NfCore> nf, const std::string& near, const std::string& far);

  // Waits for frames and passes them on until stop(). Throws std::runtime_error when an interface is gone.
  void run();

  // From any thread.
  void stop();

  // From the control thread: has work done between two batches, on the thread of run(). Throws what the work throws.
  void between_batches(std::function<void()> work) { calls_.call(std::move(work)); }

  // What NfCore does while the worker is parked is called between batches.
  NfCore& nf() { return *nf_; }

  // Between batches.
  const DirectionCounters& counters(Direction direction) const { return counters_[static_cast<size_t>(direction)]; }
  std::map<std::string, uint64_t> drops();

 private:
  void wait();
  void pass(Direction in);
  size_t admit(std::span<const Frame> frames, Direction in);
  void send_all(size_t n);

  static constexpr size_t kReasons = std::numeric_limits<decltype(NfVerdict::drop_reason)>::max() + size_t{1};

  using Addresses = std::array<uint8_t, 12>;

  // The packets of one pass.
  struct Batch {
    std::array<NfPacket, kBatch> packets;
    std::array<Addresses, kBatch> addresses;  // with which they came
    std::array<NfVerdict, kBatch> verdicts;
  };

  std::unique_ptr<NfCore> nf_;
  Batch batch_;
  LinkWatch links_;                  // before the ports, so that nothing is missed that happens to them
  std::array<PacketPort, 2> ports_;  // by the direction that begins there
  CrossThreadCall calls_;
  std::atomic<bool> stopped_ = false;
  std::array<DirectionCounters, 2> counters_;
  uint64_t runts_ = 0;
  uint64_t untagged_ = 0;
  std::array<uint64_t, kReasons> nf_drops_{};  // by index of NfCore::drop_reasons()
};

}  // namespace orrery::container_nf
