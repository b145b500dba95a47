// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "p4/switch/ports.h"

namespace orrery::p4 {

struct Arguments {
  bool help = false;
  uint64_t device_id = 0;
  std::vector<std::string> p4runtime;
  std::string control;
  std::vector<PortConfig> ports;
  std::string program;
  std::string p4info;
  uint32_t cpu_port = 510;
  uint32_t drop_port = 511;
};

extern const char* const kUsage;

// Throws std::invalid_argument, which says what is wrong with the command line.
Arguments parse_arguments(int argc, char** argv);

}  // namespace orrery::p4
