// SPDX-License-Identifier: Apache-2.0
#include "support/epoch.h"

#include <cstdio>
#include <random>

namespace orrery {

std::string random_epoch() {
  std::random_device random;
  char text[17];
  std::snprintf(text, sizeof(text), "%08x%08x", random(), random());
  return text;
}

}  // namespace orrery
