// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "p4/core/trace.h"

namespace orrery::p4 {

// As agents/p4/switch/README.md has it.
nlohmann::json to_json(const TraceStep& step);

// Traces of packets until somebody reads them. From any thread.
class TraceStore {
 public:
  static constexpr uint32_t kMostArmed = 100;
  static constexpr size_t kMostKept = 256;
  static constexpr size_t kMostSteps = 65536;  // of all that are kept

  void arm(uint32_t count, std::optional<uint32_t> port);

  // Whether the next frame of a port is to be traced; counts it.
  bool take(uint32_t port);
  void add(uint32_t port, size_t bytes, uint64_t now_ns, PacketTrace&& trace);

  // {traces, armed, lost}: those above `after`.
  nlohmann::json read(uint64_t after) const;

 private:
  struct Kept {
    uint64_t sequence;
    uint64_t now_ns;
    uint32_t port;
    size_t bytes;
    PacketTrace trace;
  };

  mutable std::mutex mutex_;
  std::atomic<uint32_t> armed_ = 0;
  std::optional<uint32_t> port_;
  std::deque<Kept> kept_;
  size_t steps_ = 0;
  uint64_t last_ = 0;
  uint64_t lost_ = 0;  // that left before they were read
};

}  // namespace orrery::p4
