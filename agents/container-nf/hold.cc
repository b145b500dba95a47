// SPDX-License-Identifier: Apache-2.0
#include "container-nf/hold.h"

#include <csignal>
#include <cstdio>

namespace orrery::container_nf {

void hold() {
  signal(SIGCHLD, SIG_IGN);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  std::puts("orrery-container-nf holds");
  std::fflush(stdout);
  int signal_number = 0;
  sigwait(&ends, &signal_number);
}

}  // namespace orrery::container_nf
