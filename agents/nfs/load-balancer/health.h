// SPDX-License-Identifier: Apache-2.0
// How well a port of a back end answers, judged by the connections that clients open: an NF sends nothing of its own.
#pragma once

#include <cstdint>

namespace orrery::load_balancer {

struct HealthSettings {
  uint32_t max_failures;   // in succession until it counts as failed; 0: it never does
  uint64_t window_ns;      // within which they lie
  uint64_t retry_ns;       // from a failure to the next trial
  uint32_t min_successes;  // trials in succession until it is well again

  bool operator==(const HealthSettings&) const = default;
};

// What failed gets one new connection for each retry time, and the next at once where that one is answered.
class Health {
 public:
  bool failed() const { return failed_; }

  // Counts the changes between well and failed. What a connection shows is evidence only in the era in which it began.
  uint16_t era() const { return era_; }

  bool has_answered() const { return answered_ns_ != 0; }
  // Whether a connection was answered after this time.
  bool answered_since(uint64_t ns) const { return answered_ns_ > ns; }

  // Whether a new connection may go there. A yes of a failed one is for that connection alone.
  bool admits(const HealthSettings& settings, uint64_t now_ns) {
    if (!failed_) return true;
    if (now_ns < retry_at_ns_) return false;
    retry_at_ns_ = now_ns + settings.retry_ns;
    return true;
  }

  void succeed(const HealthSettings& settings, uint64_t now_ns) {
    answered_ns_ = now_ns;
    if (!failed_) {
      failures_ = 0;
    } else if (++successes_ >= settings.min_successes) {
      change(false);
    } else {
      retry_at_ns_ = now_ns;
    }
  }

  void fail(const HealthSettings& settings, uint64_t now_ns) {
    if (failed_) {
      successes_ = 0;
      retry_at_ns_ = now_ns + settings.retry_ns;
      return;
    }
    if (failures_ == 0 || now_ns - first_failure_ns_ > settings.window_ns) {
      failures_ = 0;
      first_failure_ns_ = now_ns;
    }
    if (++failures_ < settings.max_failures || settings.max_failures == 0) return;
    change(true);
    retry_at_ns_ = now_ns + settings.retry_ns;
  }

 private:
  void change(bool failed) {
    failed_ = failed;
    failures_ = successes_ = 0;
    ++era_;
  }

  uint64_t first_failure_ns_ = 0;
  uint64_t retry_at_ns_ = 0;
  uint64_t answered_ns_ = 0;  // the last time
  uint32_t failures_ = 0;     // in succession, while it is well
  uint32_t successes_ = 0;    // in succession, since it failed
  uint16_t era_ = 0;
  bool failed_ = false;
};

}  // namespace orrery::load_balancer
