// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "p4/service/device.h"

namespace orrery::p4::service {

// Messages that wait until a client takes them.
class StreamQueue : public StreamSink {
 public:
  static constexpr size_t kMostMessages = 4096;
  static constexpr size_t kMostBytes = size_t{16} << 20;
  static constexpr size_t kMostNeeded = 1024;  // beyond that

  bool post(pb::StreamMessageResponse&& message, bool needed) override;

  // Waits for a message; nothing after close().
  std::optional<pb::StreamMessageResponse> take();

  // What waits is still taken.
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<pb::StreamMessageResponse> messages_;
  size_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace orrery::p4::service
