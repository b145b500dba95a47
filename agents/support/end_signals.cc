// SPDX-License-Identifier: Apache-2.0
#include "support/end_signals.h"

#include <csignal>
#include <utility>

namespace orrery {

namespace {

std::function<void()> g_stop;

}  // namespace

EndSignals::EndSignals(std::function<void()> stop) {
  g_stop = std::move(stop);
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop(); };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

EndSignals::~EndSignals() {
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
}

}  // namespace orrery
