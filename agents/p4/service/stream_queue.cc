// SPDX-License-Identifier: Apache-2.0
#include "p4/service/stream_queue.h"

namespace orrery::p4::service {

bool StreamQueue::post(pb::StreamMessageResponse&& message, bool needed) {
  const size_t bytes = message.ByteSizeLong();
  {
    const std::lock_guard lock(mutex_);
    const size_t most = kMostMessages + (needed ? kMostNeeded : 0);
    if (closed_ || messages_.size() >= most || (!needed && bytes_ + bytes > kMostBytes)) return false;
    bytes_ += bytes;
    messages_.push_back(std::move(message));
  }
  changed_.notify_one();
  return true;
}

std::optional<pb::StreamMessageResponse> StreamQueue::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || !messages_.empty(); });
  if (messages_.empty()) return std::nullopt;
  pb::StreamMessageResponse message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= message.ByteSizeLong();
  return message;
}

void StreamQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace orrery::p4::service
