// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace orrery {

// While it lives, SIGTERM and SIGINT call `stop`, which must be async-signal-safe; after that both are ignored, so that
// a program that ends is not cut short. SIGPIPE is ignored from the beginning. One at a time.
class EndSignals {
 public:
  explicit EndSignals(std::function<void()> stop);
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
};

}  // namespace orrery
