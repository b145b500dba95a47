// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "flows/frame_writer.h"

namespace orrery::flows {

// Sends frames from an interface of this network namespace and receives none. Needs CAP_NET_RAW and CAP_NET_ADMIN.
class TransmitSocket {
 public:
  static constexpr size_t kBatch = 64;

  // Throws std::runtime_error.
  explicit TransmitSocket(const std::string& interface);
  ~TransmitSocket();
  TransmitSocket(const TransmitSocket&) = delete;
  TransmitSocket& operator=(const TransmitSocket&) = delete;

  // The buffer for frame `index` of the next batch; zero at first, then what it was left with.
  FrameWriter::Buffer& buffer(size_t index) { return buffers_[index]; }
  void set_length(size_t index, size_t bytes) { parts_[index].iov_len = bytes; }

  struct Sent {
    size_t frames;
    size_t bytes;
    int error;  // why one or all of the others were not sent; 0: all were
  };
  // Sends the first `count` buffers. Waits while too much of what was sent is under way, a tenth of a second at most;
  // what finds the queue of the interface full is left out.
  Sent send(size_t count);

 private:
  int fd_;
  std::array<FrameWriter::Buffer, kBatch> buffers_{};
  std::array<iovec, kBatch> parts_{};
  std::array<mmsghdr, kBatch> messages_{};
};

}  // namespace orrery::flows
