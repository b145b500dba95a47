// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "support/state/figures.h"
#include "support/state/packet_side.h"
#include "support/state/store_address.h"

namespace orrery::state {

struct ProxyOptions {
  StoreAddress store;
  std::string name;                  // `orrery-NAME` in the store's CLIENT LIST; 1 to 64 of a-z, A-Z, 0-9, - . _
  uint32_t stale_bound_ms = 500;     // 20 to 60,000: how long an invalid value may be served, whatever hangs
  uint32_t deadline_ms = 100;        // 1 to 60,000: of a request, from when it was made
  uint32_t silence_limit_ms = 1000;  // 100 to 60,000: a store that answers no probe for so long is left
  // Of one connection, in requests and in bytes of commands. What is beyond waits in the rings of requests.
  uint32_t max_in_flight = 4096;
  size_t max_in_flight_bytes = size_t{4} << 20;
};

// The thread of a process that talks to the store for its packet threads. It begins at once, and connects again and
// again while the store is away.
class Proxy {
 public:
  // Throws std::invalid_argument for options out of range, std::system_error.
  explicit Proxy(const ProxyOptions& options);
  // Answers what is under way with kAway. Precondition: no packet thread makes requests any more.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // For one packet thread; from any thread at any time. Throws std::invalid_argument for rings that are too small.
  std::unique_ptr<PacketSide> attach(const SideOptions& options);

  // From any thread.
  Figures figures() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace orrery::state
