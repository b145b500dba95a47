// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace orrery::bench {

// The far end of a port: sends a number of frames to hop 1 through an interface, and whatever comes back once more.
// Frames that get lost are replaced. Throws std::runtime_error.
class Reflector {
 public:
  // By default as many as fill the engine's batches without overflowing its rings.
  Reflector(const std::string& iface, uint16_t bytes, size_t frames = 256);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

 private:
  void run(uint16_t bytes, size_t in_circulation);

  int fd_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace orrery::bench
