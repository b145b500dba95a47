// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "support/state/channel.h"
#include "support/state/connection.h"
#include "support/state/messages.h"

namespace orrery::state {

enum class RequestState : uint8_t {
  kFree,
  kWaiting,  // for its store or for its next attempt; it is on no connection
  kSent,
  kAnswered,  // with kTimedOut, while its answer may still come
};

// A request that was taken from its ring.
struct Request {
  RequestState state = RequestState::kFree;
  RequestKind kind = RequestKind::kFetch;
  bool moved = false;   // MOVED was followed
  bool asked = false;   // ASK was followed
  bool asking = false;  // the next attempt is behind ASKING
  bool keyless = false;
  uint16_t slot = 0;
  uint16_t key_begin = 0;  // of a fetch, in `command`
  uint16_t key_bytes = 0;
  uint8_t redirected_to = 0;  // connection of the next attempt, where `redirected`
  bool redirected = false;
  Token token = 0;
  uint64_t made_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t retry_ns = 0;
  Channel* channel = nullptr;  // null: nobody is there any more
  std::string command{};

  Bytes key() const { return as_bytes(std::string_view(command).substr(key_begin, key_bytes)); }
};

// The requests under way, by ticket. For one thread.
class RequestPool {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  Request& operator[](Ticket ticket) { return requests_[ticket]; }
  const Request& operator[](Ticket ticket) const { return requests_[ticket]; }

  // Does not move other requests.
  Ticket add(uint64_t deadline_ns) {
    if (free_.empty()) {
      free_.push_back(static_cast<Ticket>(requests_.size()));
      requests_.emplace_back();
    }
    const Ticket ticket = free_.back();
    free_.pop_back();
    std::string command = std::move(requests_[ticket].command);
    command.clear();
    requests_[ticket] = {};
    requests_[ticket].command = std::move(command);
    requests_[ticket].state = RequestState::kWaiting;
    requests_[ticket].deadline_ns = deadline_ns;
    earliest_deadline_ns_ = std::min(earliest_deadline_ns_, deadline_ns);
    return ticket;
  }

  void remove(Ticket ticket) {
    Request& request = requests_[ticket];
    request.state = RequestState::kFree;
    request.channel = nullptr;
    if (request.command.capacity() > kKeptCommandBytes) request.command = {};
    free_.push_back(ticket);
  }

  size_t in_use() const { return requests_.size() - free_.size(); }

  // No request that is neither free nor answered has an earlier one.
  uint64_t earliest_deadline_ns() const { return earliest_deadline_ns_; }

  // expired(ticket): for each whose deadline has passed; it removes the request or makes it kAnswered.
  template <class Visit>
  void expire(uint64_t now_ns, Visit&& expired) {
    if (now_ns < earliest_deadline_ns_) return;
    uint64_t earliest = kNever;
    for (Ticket ticket = 0; ticket < requests_.size(); ++ticket) {
      const Request& request = requests_[ticket];
      if (request.state != RequestState::kWaiting && request.state != RequestState::kSent) continue;
      if (now_ns >= request.deadline_ns) {
        expired(ticket);
      } else {
        earliest = std::min(earliest, request.deadline_ns);
      }
    }
    earliest_deadline_ns_ = earliest;
  }

  // The channel is about to go.
  void forget(const Channel* channel) {
    for (Request& request : requests_)
      if (request.channel == channel) request.channel = nullptr;
  }

 private:
  static constexpr size_t kKeptCommandBytes = 1024;

  std::deque<Request> requests_;
  std::vector<Ticket> free_;
  uint64_t earliest_deadline_ns_ = kNever;
};

}  // namespace orrery::state
