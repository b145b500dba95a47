// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "p4/core/pipeline.h"
#include "p4/service/device.h"
#include "p4/switch/ports.h"
#include "p4/switch/trace_store.h"
#include "support/cross_thread_call.h"
#include "support/link_watch.h"

namespace orrery::p4 {

struct ForwarderOptions {
  uint32_t cpu_port = 510;
  uint32_t drop_port = 511;
};

// Takes frames from the ports through the pipeline, on the thread of run().
class Forwarder : public service::Host {
 public:
  explicit Forwarder(const ForwarderOptions& options);
  ~Forwarder() override;
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // The device whose controllers get packets and digests. Before run().
  void serve(service::Device& device) { device_ = &device; }

  // Until stop().
  void run();

  // From any thread.
  void stop();
  void run(std::shared_ptr<const service::Running> running) override;
  bool packet_out(std::vector<uint8_t>&& frame) override;
  TraceStore& traces() { return traces_; }
  // Frames that came while there was no pipeline.
  uint64_t unrouted() const { return unrouted_; }

  // From one other thread: between two batches. Throws std::runtime_error after the end of run().
  void set_ports(const std::vector<PortConfig>& configs);
  std::vector<PortReport> ports();

 private:
  class Leaving;  // what the pipeline sends
  static constexpr size_t kMostOutFrames = 4096;
  static constexpr size_t kMostOutBytes = size_t{8} << 20;

  void wait();
  void take_ready(uint32_t number, uint32_t events);
  void pass(uint32_t port, std::span<const std::span<const uint8_t>> frames);
  void take_packets_out();
  void take_pipeline();
  void refresh_ports();

  ForwarderOptions options_;
  service::Device* device_ = nullptr;
  int epoll_;
  int wake_;  // eventfd: a pipeline, packets out, or the end
  LinkWatch links_;
  CrossThreadCall calls_;
  Ports ports_;
  FrameBuffers buffers_;
  TraceStore traces_;
  std::shared_ptr<const service::Running> running_;
  std::set<uint32_t> told_up_;
  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> unrouted_ = 0;

  std::mutex mutex_;
  std::shared_ptr<const service::Running> next_;
  std::deque<std::vector<uint8_t>> packets_out_;
  size_t packets_out_bytes_ = 0;
};

}  // namespace orrery::p4
