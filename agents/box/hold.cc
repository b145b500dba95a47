// SPDX-License-Identifier: Apache-2.0
#include "box/hold.h"

#include <csignal>
#include <cstdio>

namespace orrery::box {

void hold() {
  signal(SIGCHLD, SIG_IGN);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  std::puts("orrery-nf-box holds");
  std::fflush(stdout);
  int signal_number = 0;
  sigwait(&ends, &signal_number);
}

}  // namespace orrery::box
